// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
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
  enum class State {
    finished,
    failed,
    crashed,
    missing
  };  // failed: diverged, a result; crashed: an error
  State state = State::missing;
  std::string reason;  // "loss 3.41 above 2.5", "not finite at step 120", "exit code 70, twice"
  std::int64_t seed = 0;
  std::string key;                                          // folder in the run cache
  double value = std::numeric_limits<double>::quiet_NaN();  // of the study's measure
  report::Run run;                                          // empty if the run is missing
  std::map<std::string, double> recorded;  // of a CSV: Measure::name() -> value; empty: see `run`
};

/// One combination of the axes.
struct Arm {
  std::string name;                           // "hybrid_norm, layers 16"
  std::map<std::string, std::string> labels;  // axis -> label
  std::vector<SeedRun> seed_runs;             // one per seed, in the order of Study::seeds
  bool is_causal = true;                      // in evaluation: no token sees a later one
  std::int64_t parameters = 0, norm_parameters = 0;
  double norms_share = 0;        // norm FLOPs / (GEMM + attention FLOPs)
  double paper_norms_share = 0;  // nn::paper_norms_share()
  double tokens = 0;             // tokens per run
  std::string init;              // "scheme (megatron)", "normal"
  std::string precision;         // "bfloat16"
  std::string tuned_value;       // the value that the search chose; "" without one
  // Of a sweep: for each seed the losses along the axis, at most Measure::cap; else empty.
  std::vector<std::vector<double>> swept_losses;
  bool has_crashed_trial = false;  // in its search; its runs are then missing
};

/// The trials of one arm and the value that they chose.
struct SearchResult {
  std::size_t arm = 0;
  struct Trial {
    std::string value;
    double share = 1;  // fraction of the steps of a full run
    double loss = 0;   // validation loss; NaN: failed
    std::string key;   // folder in the run cache
    bool crashed = false;
  };
  std::vector<Trial> trials;  // in order of execution
  std::string chosen;
  bool all_failed = false;  // no trial succeeded: the first value is used
  bool at_edge = false;     // the best value is at an end of the range
};

/// Why a measured difference was not tested.
struct NotTested {
  enum class Kind {
    missing_runs,    // some seeds have neither finished nor failed: they crashed or are missing
    crashed_trial,   // of the search of an arm, so that its value may be a wrong one
    cpu_contention,  // other processes took too much CPU time while steps were timed
    failed_runs,     // a difference of differences of which a run failed
    zero_variance,   // `equivalent` only: each arm has one value under all seeds
    incompetent      // `equivalent` only: a mean is above Claim::competence
  };
  Kind kind = Kind::missing_runs;
  std::vector<std::string> arms;  // missing_runs, failed_runs: arms with such runs
  std::int64_t contended = 0;     // cpu_contention: runs above CpuContention::kMaxShare
  std::int64_t total = 0;         // cpu_contention: finished runs of both arms
  double max_share = 0;           // cpu_contention: largest share of CPU time, 0 .. 1
};

/// The result of one claim for one pair of arms, or of one arm against its baseline.
/// report/verdict_text.h writes the sentence.
struct Verdict {
  enum class Outcome { supported, contradicted, inconclusive, not_measured, not_tested };
  Outcome outcome = Outcome::not_measured;
  std::optional<std::size_t> claim;  // index into Study::claims; nullopt: against the baseline
  std::string where;                 // values of the remaining axes: "layers 16"; may be ""
  std::string arm, reference;        // names of the arms; reference "" for `trains` and `fails`
  std::optional<PairedDifference> difference;  // arm minus reference
  std::optional<NotTested> not_tested;         // set if and only if the outcome is not_tested
  bool is_failure_test =
      false;     // p (`equivalent`: p_nonequivalence) is from Fisher's test of failures
  double p = 1;  // adjusted by Holm's method or that of the study
  double p_nonequivalence = 1;  // `equivalent`: H0 |difference| <= margin; Holm-adjusted
  double sign_flip_p = 1;  // of a comparison: as p, with the sign-flip test in the place of the
                           // t-test; NaN for `equivalent`; else p
  // Against the baseline, with false discoveries controlled: the difference as shrunken_means().
  std::optional<double> shrunken;
  std::optional<std::int64_t> required_seeds;  // of a sign test: significant if all agree
  // `further`, one per seed: the largest value of the axis up to which all runs finish; NaN if a
  // run up to there crashed or is missing, -infinity if the first run fails.
  std::vector<double> arm_max, reference_max;
};

/// Comparison of the signs of the measured and the published difference (Claim::paper).
enum class Direction { agrees, disagrees, inconclusive, unknown };
Direction direction_of(const Claim& claim, const Verdict& verdict);

/// A covariate that differs between compared arms and is not itself an axis.
struct Confounder {
  /// The arms that share one value.
  struct Group {
    std::string value;              // "megatron", "2,048"
    std::vector<std::string> arms;  // names, in the order of Results::arms
  };
  std::string covariate;      // name, as in reports
  std::vector<Group> groups;  // two or more, ordered by first arm
};

struct PowerLawFit {
  std::string name;  // common name of the fitted arms: "pre_norm"
  std::vector<double> sizes, values;
  PowerLaw law;
  /// The value at the largest size by the law of all smaller ones, and the mean value there.
  struct Prediction {
    double by_smaller = 0, mean = 0;
    Interval interval;  // prediction_interval() of the mean; NaN with two smaller sizes
  };
  std::optional<Prediction> predicted;  // with three sizes or more
};

struct Results {
  Study study;
  std::vector<Arm> arms;          // of the grid
  std::vector<Arm> further_arms;  // of Study::refine, with values that the grid does not have
  // By claim, whose arms are not those of the grid: of sweeps and of differences of differences.
  std::map<std::size_t, std::vector<Arm>> claim_arms;
  std::vector<Arm> swept_comparison;  // arms of Study::comparison, if that is a sweep; else empty
  std::vector<Verdict> verdicts;      // of claims, in the order of Study::claims
  std::vector<Verdict> baseline_verdicts;  // one per compared arm, in the order of arms
  std::vector<SearchResult> search_results;
  std::vector<PowerLawFit> fits;
  std::vector<Confounder> confounders;
  std::vector<std::string> definition_changes;  // changes of the study file since the first run
  std::vector<OwnScheme> own_schemes;           // of the grid; as the runs use them
  std::string provenance;                       // version, commit, processor
  std::string command;                          // command line that repeats the study
  double seconds = 0;                           // training time of all runs, with searches
  double search_share = 0;                      // fraction of `seconds` in searches
  bool is_complete = false;                     // all runs have finished or failed
  bool is_reported = false;                     // the report is written
};

/// The arms that are compared with the baseline.
inline const std::vector<Arm>& compared_arms(const Results& results) {
  return results.swept_comparison.empty() ? results.arms : results.swept_comparison;
}

/// Those of the grid, then Results::further_arms.
std::vector<const Arm*> all_arms(const Results& results);

/// The claim of a verdict; nullptr for a comparison with the baseline.
const Claim* claim_of(const Results& results, const Verdict& verdict);

}  // namespace evenkeel::study
