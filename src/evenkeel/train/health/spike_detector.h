// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <deque>
#include <optional>

namespace evenkeel::train {

/// Detects spikes in a series that falls slowly. For the last 64 values w, a value x is a spike if
///
///   x - median(w) > deviations * 1.4826 * MAD(w)   and   x - median(w) > relative * |median(w)|
///
/// with the median absolute deviation MAD(w) = median(|w - median(w)|). Median and MAD are robust:
/// up to half of the window may be outliers, which a mean and a standard deviation would follow.
class SpikeDetector {
 public:
  /// How far above the median a value must be to count.
  struct Limits {
    double deviations = 10;  // scaled MADs: standard deviations of a normal distribution
    double relative = 0.1;   // and at least this part of the median
  };

  SpikeDetector() = default;
  explicit SpikeDetector(const Limits& limits) : limits_(limits) {}

  /// How far a spike is above the window.
  struct Spike {
    double median = 0;      // of the window
    double deviations = 0;  // x - median in scaled MADs; x - median itself if the MAD is 0
  };

  /// Checks a value and adds it to the window. NaN and infinity are ignored.
  /// \return the spike; none if the value is no spike, or the window has fewer than 20 values
  std::optional<Spike> observe(double value);

  /// The window, so that a resumed run detects the same spikes as an uninterrupted one.
  nlohmann::json state() const { return window_; }
  void restore(const nlohmann::json& state) { window_ = state.get<std::deque<double>>(); }

 private:
  Limits limits_;
  std::deque<double> window_;  // newest last
};

}  // namespace evenkeel::train
