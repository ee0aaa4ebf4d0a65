// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/bench/operator_times.h"
#include "evenkeel/bench/timing.h"
#include "evenkeel/config/config.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::bench {

/// The benchmark of one scheme's complete training step: data, forward, backward, clipping, update,
/// health monitor.
struct StepArm {
  std::string scheme;
  double flops = 0;           // per step
  Timing timing;              // of whole steps
  Ratio against_first;        // step time / step time of the first arm
  OperatorSeconds operators;  // self times in one additional, profiled step
  double profiled = 0;        // seconds of the profiled step
  // Of one more step: OperatorTimes::serial_seconds(), and the seconds of the step. Empty on GPUs,
  // with one thread, and if ops::are_waits_fixed().
  OperatorSeconds serial;
  double serial_step = 0;
  double faults = 0;  // minor page faults per step
};

/// The result of `bench step`.
struct StepResult {
  train::Machine machine;
  std::int64_t tokens = 0;           // per step
  double gemm_rate = 0;              // FLOP/s of the model's fastest GEMM, in the same run
  double peak_bytes = 0;             // peak memory of the process with all arms
  int repeated = 0;                  // disturbed rounds that were measured again
  std::optional<double> contention;  // of the counted rounds and the better GEMM measurement
  std::vector<StepArm> arms;

  /// The GEMM-bound time: FLOPs of a step / gemm_rate, in seconds.
  double gemm_bound_seconds(const StepArm& arm) const { return arm.flops / gemm_rate; }
};

/// Times whole training steps of the schemes in interleaved rounds; repeated_timings().
/// \param sources  the configuration; its scheme is replaced
/// \throws Error (usage, exit code 64) for an invalid configuration
StepResult time_steps(const config::Sources& sources, const std::vector<std::string>& schemes,
                      int rounds);

}  // namespace evenkeel::bench
