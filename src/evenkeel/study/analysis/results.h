// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/report/run.h"
#include "evenkeel/study/analysis/power_law.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/definition/definition.h"

/// The results of a study: the data of its report.
namespace evenkeel::study {

/// One run of an arm: one seed.
struct SeedRun {
  enum class State { finished, failed, crashed, missing };  // failed: an outcome, not a mishap
  State state = State::missing;
  std::string reason;  // "loss 3.41 above 2.5", "not finite at step 120", "exit code 70, twice"
  std::int64_t seed = 0;
  std::string key;   // its folder in the run cache
  double value = 0;  // of the study's measure; NaN unless finished
  report::Run run;   // empty unless there is one
};

/// One combination of the axes.
struct Arm {
  std::string name;                           // "hybrid_norm, layers 16"
  std::map<std::string, std::string> labels;  // axis -> label
  std::vector<SeedRun> seed_runs;             // one a seed, in the order of the study's seeds
  std::int64_t parameters = 0, norm_parameters = 0;
  double norms_share = 0;        // FLOPs of norms over those of products and attention
  double paper_norms_share = 0;  // the same as the paper counts it
  double tokens = 0;             // that a run of it reads
  std::string init;              // "scheme (megatron)", "normal"
  std::string precision;         // "bfloat16"
  std::string tuned_value;       // the value that the search chose; "" without one
};

/// The trials of one arm and the value that they chose.
struct SearchResult {
  std::size_t arm = 0;
  struct Trial {
    std::string value;
    double share = 1;  // of the steps
    double loss = 0;   // NaN: failed
    std::string key;   // its folder in the run cache
    bool crashed = false;
  };
  std::vector<Trial> trials;  // in the order in which they were made
  std::string chosen;
  bool all_failed = false;  // no value trained: the first was taken
  bool at_edge = false;     // the best is the first or the last of the range: it may lie beyond
};

/// The result of one claim for one pair of arms, or of one arm against its baseline.
struct Verdict {
  enum class Outcome { supported, contradicted, inconclusive, not_measured, not_tested };
  Outcome outcome = Outcome::not_measured;
  std::size_t claim = 0;       // index into the study's claims; not of `baseline_verdicts`
  std::string where;           // "layers 16"; "" where the claim has one place only
  std::string arm, reference;  // names of the arms
  std::optional<PairedDifference> difference;  // arm minus reference
  std::string not_tested_reason;               // "" if it was tested
  bool is_failure_test =
      false;     // p (of `equivalent`: p_nonequivalence) is of how often the arms fail
  double p = 1;  // corrected with its family (Holm)
  double p_nonequivalence = 1;  // of `equivalent`: that they are not; corrected
  std::optional<std::int64_t>
      required_seeds;    // that would detect such a difference with 80 % power
  std::string sentence;  // "HybridNorm is lower by 0.012 [0.004, 0.020], p 0.01 ..."
};

/// A table of outcomes beside the paper's: the sign of ours against that of `Claim::paper`.
enum class Direction { agrees, disagrees, inconclusive, unknown };
Direction direction_of(const Claim& claim, const Verdict& verdict);

struct PowerLawFit {
  std::string name;  // of the arms it goes through: "pre_norm"
  std::vector<double> sizes, values;
  PowerLaw law;
};

struct Results {
  Study study;
  std::vector<Arm> arms;
  std::vector<Verdict> verdicts;           // of claims, in their order
  std::vector<Verdict> baseline_verdicts;  // of arms, in their order
  std::vector<SearchResult> search_results;
  std::vector<PowerLawFit> fits;
  std::vector<std::string> confounders;         // what differs between arms beside what is compared
  std::vector<std::string> definition_changes;  // of the study file, after it was begun
  std::string provenance;                       // version, commit, processor
  std::string command;                          // that repeats it
  double seconds = 0;                           // of training, all runs, searches included
  double search_share = 0;                      // of these, in searches
  bool is_complete = false;                     // all runs have finished or failed
};

}  // namespace evenkeel::study
