// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/series.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace evenkeel::report {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Adds the points of [begin, end) that a picture of the curve needs.
void add_extremes(const std::vector<double>& curve, std::size_t begin, std::size_t end,
                  std::vector<std::size_t>& kept) {
  std::size_t lowest = end, highest = end, gap = end;
  for (auto at = begin; at < end; ++at) {
    const double y = curve[at];
    if (!std::isfinite(y)) {
      gap = at;
      continue;
    }
    if (lowest == end || y < curve[lowest]) lowest = at;
    if (highest == end || y > curve[highest]) highest = at;
  }
  for (const auto at : {lowest, highest, gap}) {
    if (at != end) kept.push_back(at);
  }
}

/// Sums over windows whose ends move to the right only. A sum has no term outside of its window, so
/// one huge value does not erase the digits of later windows, as a difference of two sums would.
class WindowSum {
 public:
  explicit WindowSum(const std::vector<double>& values) : values_(values), tail_(values.size()) {}

  /// The sum of [begin, end), which must not be empty.
  double over(std::size_t begin, std::size_t end) {
    for (; end_ < end; ++end_) head_ += values_[end_];
    if (begin >= split_) {
      double sum = 0;
      for (auto at = end; at > begin; --at) tail_[at - 1] = sum += values_[at - 1];
      split_ = end;
      head_ = 0;
    }
    return tail_[begin] + head_;
  }

 private:
  const std::vector<double>& values_;
  std::vector<double> tail_;  // [at] is the sum of [at, split_)
  double head_ = 0;           // the sum of [split_, end_)
  std::size_t split_ = 0, end_ = 0;
};

}  // namespace

Series downsampled(const Series& series, std::size_t buckets) {
  Series out;
  for (const auto at : downsample_indices({&series.y}, buckets))
    out.add(series.x[at], series.y[at]);
  return out;
}

std::vector<std::size_t> downsample_indices(const std::vector<const std::vector<double>*>& curves,
                                            std::size_t buckets) {
  constexpr std::size_t kPointsABucket = 3;
  const auto size = curves.front()->size();
  std::vector<std::size_t> kept;
  if (size <= buckets * kPointsABucket) {
    kept.resize(size);
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    return kept;
  }
  const auto inner = size - 2;
  kept = {0, size - 1};
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    for (const auto* curve : curves) {
      add_extremes(*curve, 1 + bucket * inner / buckets, 1 + (bucket + 1) * inner / buckets, kept);
    }
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

Series smoothed(const Series& series, std::size_t half) {
  const auto size = series.size();
  auto values = series.y;
  std::vector<double> count(size + 1, 0);
  for (std::size_t at = 0; at < size; ++at) {
    const bool counts = std::isfinite(values[at]);
    if (!counts) values[at] = 0;
    count[at + 1] = count[at] + (counts ? 1 : 0);
  }
  WindowSum sum(values);
  Series out{series.x, series.y};
  for (std::size_t at = 0; at < size; ++at) {
    const auto reach = std::min(half, at);
    const auto begin = at - reach, end = std::min(at + reach + 1, size);
    const double all = sum.over(begin, end);
    if (std::isfinite(series.y[at])) out.y[at] = all / (count[end] - count[begin]);
  }
  return out;
}

Series from_x(const Series& series, double from) {
  Series out;
  for (std::size_t at = 0; at < series.size(); ++at) {
    if (series.x[at] >= from) out.add(series.x[at], series.y[at]);
  }
  return out;
}

std::vector<double> finite_values(const std::vector<double>& values) {
  std::vector<double> out;
  std::copy_if(values.begin(), values.end(), std::back_inserter(out),
               [](double value) { return std::isfinite(value); });
  return out;
}

double mean_of_last(const std::vector<double>& values, std::size_t count) {
  const auto good = finite_values(values);
  const auto used = std::min(count, good.size());
  if (used == 0) return kNone;
  const auto begin = good.end() - static_cast<std::ptrdiff_t>(used);
  return std::accumulate(begin, good.end(), 0.0) / static_cast<double>(used);
}

double median(const std::vector<double>& values) {
  auto good = finite_values(values);
  if (good.empty()) return kNone;
  std::sort(good.begin(), good.end());
  const auto upper = good.size() / 2;
  return good.size() % 2 == 1 ? good[upper] : (good[upper - 1] + good[upper]) / 2;
}

double last_finite(const std::vector<double>& values) {
  return mean_of_last(values, 1);
}

}  // namespace evenkeel::report
