// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::report {

/// A mark on an axis: its value and its label.
struct Tick {
  double at = 0;
  std::string label;
};

/// An axis of a chart: a range of values, ticks, and the map from a value to a position.
struct Axis {
  double low = 0, high = 1;  // low < high; both above 0 if logarithmic
  bool logarithmic = false;
  std::vector<Tick> ticks;  // inside [low, high], ascending

  /// The relative position of a value: 0 at `low`, 1 at `high`; linear in the value, or in its
  /// logarithm. Values outside the range give numbers outside 0 .. 1.
  double place(double value) const;
};

/// At most four significant digits, the exponent without padding: 3e-05 as "3e-5", 1e+31 as "1e31".
std::string short_number(double value);

/// Multiples of 1, 2 or 5 times a power of ten inside [low, high], at most `wanted` + 1 of them,
/// with labels of equal decimals: 0, 0.5, 1; from 10,000 on in k, M, G or T; from 1e15 on with an
/// exponent.
std::vector<Tick> linear_ticks(double low, double high, int wanted);

/// Ticks inside [low, high] at 1, 2 and 5 times powers of ten. More than `wanted` + 1 ticks are
/// thinned to 1 and 3 times, then to powers of ten. Fewer than three: linear_ticks().
std::vector<Tick> logarithmic_ticks(double low, double high, int wanted);

/// A linear axis over [low, high]. A range of one value is widened on both sides. Bounds of any
/// size give a finite range and at most `wanted` + 1 ticks: they are cut at 1e300 and -1e300.
Axis linear_axis(double low, double high, int wanted);

/// A logarithmic axis over [low, high], both above 0, cut at 1e-300 and 1e300. A range of one value
/// is widened likewise.
Axis logarithmic_axis(double low, double high, int wanted);

}  // namespace evenkeel::report
