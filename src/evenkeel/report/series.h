// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace evenkeel::report {

/// Points of a curve, in order of x. A y that is not finite is a gap.
struct Series {
  std::vector<double> x, y;

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  std::size_t size() const { return x.size(); }
};

/// Downsamples to at most 3 points per bucket: the lowest, the highest, and a gap if there is one.
/// Buckets are equal parts of the list. The first and the last point are retained, and all spikes.
Series downsampled(const Series& series, std::size_t buckets);

/// The union of the indices that downsampled() retains for each of several curves over the same x,
/// so that the curves have common points.
std::vector<std::size_t> downsample_indices(const std::vector<const std::vector<double>*>& curves,
                                            std::size_t buckets);

/// The moving mean over finite values: each point and `half` neighbours on either side. Near the
/// start the window shrinks on both sides, which preserves a steep start; near the end only on the
/// right. Gaps stay gaps. A spike moves only the means whose windows contain it.
Series smoothed(const Series& series, std::size_t half);

/// The points with x >= `from`.
Series from_x(const Series& series, double from);

/// The finite values, in their order.
std::vector<double> finite_values(const std::vector<double>& values);

/// The mean of the last `count` finite values; NaN if there is none.
double mean_of_last(const std::vector<double>& values, std::size_t count);

/// The median of the finite values; NaN if there is none.
double median(const std::vector<double>& values);

/// The last finite value; NaN if there is none.
double last_finite(const std::vector<double>& values);

}  // namespace evenkeel::report
