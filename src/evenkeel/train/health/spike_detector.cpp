// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/spike_detector.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace evenkeel::train {

namespace {

constexpr std::size_t kWindow = 64;
constexpr std::size_t kMinValues = 20;
constexpr double kMadScale = 1.4826;  // standard deviation over MAD of a normal distribution

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// 1.4826 MAD of the values: the standard deviation of a normal distribution.
double deviation_of(std::vector<double> values) {
  const double median = median_of(values);
  for (auto& each : values) each = std::abs(each - median);
  return kMadScale * median_of(std::move(values));
}

}  // namespace

std::optional<SpikeDetector::Spike> SpikeDetector::observe(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  std::optional<Spike> spike;
  if (window_.size() >= kMinValues) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(limits_.recent, window_.size()));
    const std::vector<double> recent(window_.end() - count, window_.end());
    const double median = median_of(recent);
    const double deviation =
        std::min(deviation_of({window_.begin(), window_.end()}), deviation_of(recent));
    const double above = value - median;
    if (above > limits_.deviations * deviation && above > limits_.relative * std::abs(median)) {
      spike = Spike{median, deviation > 0 ? above / deviation : above};
    }
  }
  window_.push_back(value);
  if (window_.size() > kWindow) window_.pop_front();
  return spike;
}

}  // namespace evenkeel::train
