// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <deque>
#include <optional>

namespace evenkeel::train {

/// Separates spikes from noise in a series that falls slowly: a spike is far above the median of
/// the last ones, measured in their median absolute deviation. Both stay as they are while up to
/// half of the window are outliers, which a mean and a standard deviation would follow.
class SpikeDetector {
 public:
  /// How far above the median a value must be to count.
  struct Limits {
    double deviations = 10;  // median absolute deviations, scaled to a normal distribution's
    double relative = 0.1;   // and at least this part of the median
  };

  SpikeDetector() = default;
  explicit SpikeDetector(const Limits& limits) : limits_(limits) {}

  struct Spike {
    double median = 0;      // of the values before
    double deviations = 0;  // how far above it
  };

  /// The spike that the value is, if it is one; the value is then part of the window. A value that
  /// is not finite is ignored. Silent until the window holds 20 values.
  std::optional<Spike> observe(double value);

  /// The window, so that a resumed run detects the same spikes as an uninterrupted one.
  nlohmann::json state() const { return window_; }
  void restore(const nlohmann::json& state) { window_ = state.get<std::deque<double>>(); }

 private:
  Limits limits_;
  std::deque<double> window_;  // newest last
};

}  // namespace evenkeel::train
