// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/config/config.h"

namespace evenkeel::plan {

/// What a run has done so far.
struct Done {
  std::int64_t step = 0;    // optimizer steps
  std::int64_t tokens = 0;  // in these steps, whose batches may have had other sizes
};

/// Steps of the run: train.steps, or train.tokens / tokens per batch, rounded up.
/// \param done  train.tokens: the steps so far count, and those for the remaining tokens
std::int64_t steps_of(const config::Config& config, const Done& done = {});

/// Steps of the learning-rate schedule, and T of expressions: schedule.steps, or steps_of() of a
/// new run.
std::int64_t planned_steps(const config::Config& config);

}  // namespace evenkeel::plan
