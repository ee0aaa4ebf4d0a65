// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/run_length.h"

#include <algorithm>

namespace evenkeel::plan {

std::int64_t steps_of(const config::Config& config, const Done& done) {
  if (config.train.steps > 0) return config.train.steps;
  const auto tokens_a_step = config.train.batch * config.model.context;
  const auto rest = std::max<std::int64_t>(0, config.train.tokens - done.tokens);
  return done.step + (rest + tokens_a_step - 1) / tokens_a_step;
}

std::int64_t planned_steps(const config::Config& config) {
  return config.schedule.steps > 0 ? config.schedule.steps : steps_of(config);
}

}  // namespace evenkeel::plan
