// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/z_score.h"

#include <cmath>

namespace evenkeel::train {

std::optional<double> ZScore::observe(double value) {
  constexpr std::size_t kWindow = 128;
  if (!std::isfinite(value)) return std::nullopt;
  if (window_.size() == kWindow) window_.pop_front();
  window_.push_back(value);
  if (window_.size() < kWindow) return std::nullopt;
  double mean = 0, variance = 0;
  for (const double each : window_) mean += each / kWindow;
  for (const double each : window_) variance += (each - mean) * (each - mean) / kWindow;
  return variance > 0 ? (value - mean) / std::sqrt(variance) : 0;
}

}  // namespace evenkeel::train
