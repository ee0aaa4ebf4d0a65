// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <deque>
#include <optional>

namespace evenkeel::train {

/// Detects spikes in a slowly changing series. With the last 64 values w and the last `recent`
/// values v, a value x is a spike if
///
///   x - median(v) > deviations * 1.4826 * min(MAD(w), MAD(v))
///   x - median(v) > relative * |median(v)|
///
/// The median absolute deviation is MAD(w) = median(|w - median(w)|). Median and MAD are robust: up
/// to half of the values may be outliers, which would shift a mean and a standard deviation. In the
/// first steps of a run the loss falls so fast that MAD(w) measures the descent; MAD(v) measures it
/// far less.
class SpikeDetector {
 public:
  /// The thresholds of a spike above the median.
  struct Limits {
    double deviations = 10;   // in units of 1.4826 MAD, a normal distribution's deviation
    double relative = 0.1;    // in units of |median(v)|
    std::size_t recent = 20;  // values in v
  };

  SpikeDetector() = default;
  explicit SpikeDetector(const Limits& limits) : limits_(limits) {}

  /// The size of a spike.
  struct Spike {
    double median = 0;      // median(v)
    double deviations = 0;  // (x - median) / (1.4826 MAD); x - median if the MAD is 0
  };

  /// Checks a value and appends it to the window. NaN and infinity are ignored.
  /// \return the spike; nullopt if the value is no spike, or the window has fewer than 20 values
  std::optional<Spike> observe(double value);

  /// The window, for a checkpoint. A resumed run then detects the same spikes as an uninterrupted
  /// one.
  nlohmann::json state() const { return window_; }
  void restore(const nlohmann::json& state) { window_ = state.get<std::deque<double>>(); }

 private:
  Limits limits_;
  std::deque<double> window_;  // the newest value is the last
};

}  // namespace evenkeel::train
