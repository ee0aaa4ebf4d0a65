// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace evenkeel::report {

/// Points of a curve in the order of the run; a y that is not finite is a gap.
struct Series {
  std::vector<double> x, y;

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  std::size_t size() const { return x.size(); }
};

/// At most 3 points for each of `buckets` equal stretches of the list: the lowest, the highest and
/// one gap if there is one, in their order. The first and last point stay; extremes and spikes do
/// too.
Series downsampled(const Series& series, std::size_t buckets);

/// Which points of several curves over the same x are kept if each of them is downsampled, for all
/// of them together: what lies between two curves stays there.
std::vector<std::size_t> downsample_indices(const std::vector<const std::vector<double>*>& curves,
                                            std::size_t buckets);

/// The mean of the finite values among the `half` neighbours on either side. Near the start fewer,
/// but as many on both sides, so that a steep start is not bent; near the end those that there are.
/// Gaps stay gaps.
Series smoothed(const Series& series, std::size_t half);

/// The points with x >= `from`.
Series from_x(const Series& series, double from);

/// The finite values, in their order.
std::vector<double> finite_values(const std::vector<double>& values);

/// The mean of the last `count` finite values; NaN if there is none.
double mean_of_last(const std::vector<double>& values, std::size_t count);

/// The middle finite value, or the mean of the two; NaN if there is none.
double median(const std::vector<double>& values);

/// The last finite value; NaN if there is none.
double last_finite(const std::vector<double>& values);

}  // namespace evenkeel::report
