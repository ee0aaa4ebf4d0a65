// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/train/learner.h"

namespace evenkeel::train {

/// The reason to end a run after a skipped step: `(health.on_spike is "stop")`,
/// `(health.budget is 10)`. Empty after an update, and while at most health.budget steps of the
/// run were skipped.
/// \param skipped  skipped steps of the run, this one included
std::optional<std::string> reason_to_stop(const config::Health& options, const StepResult& result,
                                          std::int64_t skipped);

}  // namespace evenkeel::train
