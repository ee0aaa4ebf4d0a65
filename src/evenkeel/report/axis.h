// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::report {

/// A mark on an axis: the value at which it is, and its text.
struct Tick {
  double at = 0;
  std::string label;
};

/// An axis of a chart: a range of values, its ticks, and the map from a value to a position.
struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks;

  /// 0 at `low`, 1 at `high`; linear in the value or in its logarithm.
  double place(double value) const;
};

/// Multiples of 1, 2 or 5 times a power of ten inside [low, high], at most `wanted` + 1 of them,
/// with labels of equal decimals: 0, 0.5, 1; from 10,000 on in k, M or G.
std::vector<Tick> linear_ticks(double low, double high, int wanted);

/// Powers of ten inside [low, high], where they are few with their threefolds or with their doubles
/// and fivefolds; where even these are fewer than three, linear ticks.
std::vector<Tick> logarithmic_ticks(double low, double high, int wanted);

/// An axis over [low, high]; a range of one value is widened so that it lies in the middle.
Axis linear_axis(double low, double high, int wanted);

/// As linear_axis(), over logarithms; both ends must be above 0.
Axis logarithmic_axis(double low, double high, int wanted);

}  // namespace evenkeel::report
