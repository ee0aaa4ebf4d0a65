// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/config/config.h"

namespace evenkeel::plan {

/// Steps of the run: train.steps, or train.tokens / tokens per batch, rounded up.
std::int64_t steps_of(const config::Config& config);

/// Steps of the learning-rate schedule, and T of expressions: schedule.steps, or steps_of().
std::int64_t planned_steps(const config::Config& config);

}  // namespace evenkeel::plan
