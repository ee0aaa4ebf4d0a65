// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"

/// The times of two files of `bench ... --output FILE.jsonl`, for example of two commits.
namespace evenkeel::bench {

/// The observations of one case.
enum class Sample {
  runs,    // the medians of the runs: four or more in both files
  rounds,  // the rounds of all runs; how runs differ is then not in the interval
};

/// One case of both files: an operator with its shape, a scheme's step, a process, or an exchange
/// of ranks.
struct ComparedCase {
  std::string name;              // "kernels rms_norm forward float32 4096 x 768"
  double before = 0, after = 0;  // median seconds
  Ratio ratio;                   // unpaired_ratio() of the costs, after / before
  Ratio of_seconds;              // the same of the times; equal to `ratio` without a reference
  Sample sample = Sample::rounds;
  bool is_relative = false;  // costs are relative to a probe or a GEMM rate of the same run
  bool has_rounds = false;   // false: a file without the times of its rounds
  std::string disturbed;     // "not_judged" of a file's records if it has no undisturbed one

  bool is_slower(double margin) const { return is_judged(margin) && ratio.low > 1 + margin; }
  bool is_faster(double margin) const { return is_judged(margin) && ratio.high < 1 - margin; }
  bool is_judged(double margin) const {
    return has_interval() && disturbed.empty() && !is_of_reference(margin);
  }
  /// False: too few rounds, or a file without them.
  bool has_interval() const { return has_rounds && std::isfinite(ratio.high); }
  /// True: the cost changed by more than the margin, but the time did not. The reference may be
  /// what changed.
  bool is_of_reference(double margin) const {
    return (ratio.low > 1 + margin && of_seconds.median <= 1 + margin) ||
           (ratio.high < 1 - margin && of_seconds.median >= 1 - margin);
  }
};

/// The cases of two files, the largest ratio first.
struct Comparison {
  std::vector<ComparedCase> cases;
  std::vector<std::string> only_before, only_after;  // names of cases of one file
};

/// Compares the records of two files. Records of one name are runs of one case; runs that other
/// processes disturbed are left out where the file has others. The cost of a round is its time;
/// where both files have a reference of the same run, it is relative to that: a kernel's time over
/// the probe's, a step's over the GEMM-bound time, an exchange of ranks over the engine's.
/// \param before_name, after_name  the files, for messages
/// \throws Error (data, exit code 65) if the files have no case in common, or are of different
///         processors, instruction sets, GPUs or numbers of threads
Comparison compare_records(const std::vector<nlohmann::json>& before,
                           const std::vector<nlohmann::json>& after, const std::string& before_name,
                           const std::string& after_name);

}  // namespace evenkeel::bench
