// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evenkeel/base/error.h"

namespace evenkeel::config {

namespace {

double in_steps(const Length& length, std::int64_t steps, std::int64_t tokens_per_step) {
  constexpr double kPercent = 100;
  switch (length.unit) {
    case Length::Unit::tokens:
      return std::round(length.amount / static_cast<double>(tokens_per_step));
    case Length::Unit::percent:
      return std::round(length.amount / kPercent * static_cast<double>(steps));
    case Length::Unit::steps:
      break;
  }
  return length.amount;
}

}  // namespace

LearningRate::LearningRate(const Schedule& schedule, std::int64_t steps,
                           std::int64_t tokens_per_step)
    : schedule_(schedule),
      steps_(static_cast<double>(steps)),
      warmup_(in_steps(schedule.warmup, steps, tokens_per_step)),
      decay_(in_steps(schedule.decay, steps, tokens_per_step)) {}

double LearningRate::rate(std::int64_t step) const {
  const auto s = static_cast<double>(step);
  const double peak = schedule_.peak;
  const double low = schedule_.floor * peak;
  const double first = schedule_.start * peak;
  if (s < warmup_) return first + (peak - first) * s / warmup_;
  if (schedule_.kind == "constant") return peak;
  if (s >= steps_) return s == warmup_ ? peak : low;  // a warm-up as long as the schedule
  if (schedule_.kind == "cosine") {
    const double angle = std::numbers::pi * (s - warmup_) / (steps_ - warmup_);
    return low + (peak - low) * (1 + std::cos(angle)) / 2;
  }
  const double rest = steps_ - warmup_;
  const double length =
      schedule_.kind == "wsd" ? std::clamp(decay_, 1.0, std::max(rest, 1.0)) : rest;
  return low + (peak - low) * std::min(1.0, (steps_ - s) / length);
}

}  // namespace evenkeel::config
