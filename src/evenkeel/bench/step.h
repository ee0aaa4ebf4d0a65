// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/bench/operator_times.h"
#include "evenkeel/bench/timing.h"
#include "evenkeel/config/config.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::bench {

/// One scheme's training step: data, forward, backward, clipping, update, health monitor.
struct StepArm {
  std::string scheme;
  double flops = 0;           // of a step
  Timing timing;              // of whole steps
  Ratio against_first;        // its time over that of the first arm
  OperatorSeconds operators;  // of one more step, profiled
  double profiled = 0;        // seconds of that step
  double faults = 0;          // minor page faults a step
};

/// The result of `bench step`.
struct StepResult {
  train::Machine machine;
  std::int64_t tokens = 0;  // a step
  double gemm_rate = 0;     // FLOP/s: the best of the model's products, in the same run
  double peak_bytes = 0;    // of the process, all arms together
  std::vector<StepArm> arms;

  /// Seconds that the FLOPs of a step take at gemm_rate.
  double floor_seconds(const StepArm& arm) const { return arm.flops / gemm_rate; }
};

/// Times whole training steps, the schemes in turn.
/// \param sources  of the configuration; its scheme is replaced
/// \throws Error (usage) for what is wrong in them
StepResult time_steps(const config::Sources& sources, const std::vector<std::string>& schemes,
                      int rounds);

}  // namespace evenkeel::bench
