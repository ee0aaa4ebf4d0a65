// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/skip_budget.h"

#include <cmath>

#include "evenkeel/base/error.h"

namespace evenkeel::train {

std::optional<std::string> reason_to_stop(const config::Health& options, const StepResult& result,
                                          std::int64_t skipped) {
  if (result.applied) return std::nullopt;
  const bool finite = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
  const auto* const key = finite ? "on_spike" : "on_nonfinite";
  if ((finite ? options.on_spike : options.on_nonfinite) == "stop") {
    return text("(health.", key, " is \"stop\")");
  }
  if (skipped > options.budget) return text("(health.budget is ", options.budget, ")");
  return std::nullopt;
}

}  // namespace evenkeel::train
