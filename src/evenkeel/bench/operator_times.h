// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace evenkeel::bench {

/// Self time in seconds by operator ("aten::mm", "evenkeel::rms_norm_forward"), without callees.
using OperatorSeconds = std::map<std::string, double>;

/// Self times of the operators of one run.
struct OperatorTimes {
  OperatorSeconds seconds;      // elapsed
  OperatorSeconds cpu_seconds;  // of all threads of the process
  double elapsed = 0, cpu = 0;  // of the whole run

  /// Seconds in which threads of a team of `threads` had no work, as time of one thread at work
  /// while all others wait: (threads * elapsed - CPU time) / (threads - 1). By operator, and
  /// "between" operators. Only where waiting threads sleep: ops::ShortWaits. It includes the time
  /// in which they fall asleep and wake up, and uneven work.
  /// \param threads  two or more
  OperatorSeconds serial_seconds(int threads) const;
};

/// Runs `work` and records the self time of each LibTorch operator on the calling thread. What an
/// operator calls in a parallel region is its own time.
OperatorTimes operator_times(const std::function<void()>& work);

/// The part of a training step to which an operator belongs: "products" (GEMMs), "attention",
/// "norms", "activation", "loss", "optimizer" or "other".
std::string step_part_of(const std::string& name);

}  // namespace evenkeel::bench
