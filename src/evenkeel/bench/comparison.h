// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"

/// The times of two files of `bench ... --out FILE.jsonl`, for example of two commits.
namespace evenkeel::bench {

/// One case of both files: an operator with its shape, a scheme's step, or a process.
struct ComparedCase {
  std::string name;              // "kernels rms_norm forward float32 4096 x 768"
  double before = 0, after = 0;  // median seconds
  Ratio ratio;                   // unpaired_ratio() of the costs, after / before
  bool is_relative = false;      // costs are relative to a probe or a GEMM rate of the same run
  bool has_rounds = false;       // false: a file without the times of its rounds
  std::string disturbed;         // "not_judged" of a record; "" if the machine was quiet

  bool is_slower(double margin) const { return is_judged() && ratio.low > 1 + margin; }
  bool is_faster(double margin) const { return is_judged() && ratio.high < 1 - margin; }
  bool is_judged() const { return has_interval() && disturbed.empty(); }
  /// False: too few rounds, or a file without them.
  bool has_interval() const { return has_rounds && std::isfinite(ratio.high); }
};

/// The cases of two files, the largest ratio first.
struct Comparison {
  std::vector<ComparedCase> cases;
  std::vector<std::string> only_before, only_after;  // names of cases of one file
};

/// Compares the records of two files. Records of one name are one sample. The cost of a round is
/// its time; where both files have a reference of the same run, it is relative to that: a kernel's
/// time over the probe's, a step's over the GEMM-bound time.
/// \param before_name, after_name  the files, for messages
/// \throws Error (data, exit code 65) if the files have no case in common, or are of different
///         processors, instruction sets, GPUs or numbers of threads
Comparison compare_records(const std::vector<nlohmann::json>& before,
                           const std::vector<nlohmann::json>& after, const std::string& before_name,
                           const std::string& after_name);

}  // namespace evenkeel::bench
