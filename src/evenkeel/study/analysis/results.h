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

/// Why a measured difference was not tested.
struct NotTested {
  enum class Kind {
    missing_runs,    // some seeds have neither finished nor failed
    cpu_contention,  // other processes took too much CPU time while steps were timed
    zero_variance    // of `equivalent`: each arm has one value under all seeds
  };
  Kind kind = Kind::missing_runs;
  std::vector<std::string> arms;  // of missing_runs: the arms that lack runs
  std::int64_t contended = 0;     // of cpu_contention: runs above CpuContention::kMaxShare
  std::int64_t total = 0;         // of cpu_contention: all finished runs of both arms
  double max_share = 0;           // of cpu_contention: the largest share of CPU time, 0 .. 1
};

/// The result of one claim for one pair of arms, or of one arm against its baseline. Data only:
/// report/verdict_text.h makes the sentence.
struct Verdict {
  enum class Outcome { supported, contradicted, inconclusive, not_measured, not_tested };
  Outcome outcome = Outcome::not_measured;
  std::optional<std::size_t> claim;  // index into the study's claims; none: against the baseline
  std::string where;                 // "layers 16"; "" if the claim has a single place
  std::string arm, reference;        // names of the arms; reference "" for `trains` and `fails`
  std::optional<PairedDifference> difference;  // arm minus reference
  std::optional<NotTested> not_tested;         // set if and only if the outcome is not_tested
  bool is_failure_test =
      false;     // p (of `equivalent`: p_nonequivalence) is Fisher's test of failures
  double p = 1;  // corrected with its family (Holm)
  double p_nonequivalence = 1;  // of `equivalent`: of |difference| > margin; corrected
  std::optional<std::int64_t> required_seeds;  // for 80 % power at this effect size
  // Of `further`, by seed: the largest value of the axis up to which all runs finish; NaN if a run
  // is missing, -infinity if the first run fails.
  std::vector<double> arm_max, reference_max;
};

/// The sign of a measured difference against the sign of the published one (Claim::paper).
enum class Direction { agrees, disagrees, inconclusive, unknown };
Direction direction_of(const Claim& claim, const Verdict& verdict);

/// A property that should be equal in compared arms, but is not, although no axis compares it.
struct Confounder {
  /// The arms that share one value.
  struct Group {
    std::string value;              // "megatron", "2,048"
    std::vector<std::string> arms;  // names, in the order of Results::arms
  };
  std::string covariate;      // "initialisation"
  std::vector<Group> groups;  // two or more, by their first arms
};

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
  std::vector<Confounder> confounders;
  std::vector<std::string> definition_changes;  // of the study file, after it was begun
  std::string provenance;                       // version, commit, processor
  std::string command;                          // that repeats it
  double seconds = 0;                           // of training, all runs, searches included
  double search_share = 0;                      // of these, in searches
  bool is_complete = false;                     // all runs have finished or failed
};

/// The claim that a verdict is about; nullptr for a comparison with the baseline.
const Claim* claim_of(const Results& results, const Verdict& verdict);

}  // namespace evenkeel::study
