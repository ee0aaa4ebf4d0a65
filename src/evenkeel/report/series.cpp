// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace evenkeel::report {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Adds the points of [begin, end) that a picture needs.
void add_extremes(const Series& from, std::size_t begin, std::size_t end, Series& to) {
  std::size_t lowest = end, highest = end, gap = end;
  for (auto at = begin; at < end; ++at) {
    const double y = from.y[at];
    if (!std::isfinite(y)) {
      gap = at;
      continue;
    }
    if (lowest == end || y < from.y[lowest]) lowest = at;
    if (highest == end || y > from.y[highest]) highest = at;
  }
  std::array<std::size_t, 3> kept = {lowest, highest, gap};
  std::sort(kept.begin(), kept.end());
  const auto stop = std::unique(kept.begin(), kept.end());
  for (auto at = kept.begin(); at != stop && *at != end; ++at) to.add(from.x[*at], from.y[*at]);
}

}  // namespace

Series thinned(const Series& series, std::size_t buckets) {
  constexpr std::size_t kPointsABucket = 3;
  const auto size = series.size();
  if (size <= buckets * kPointsABucket) return series;
  Series out;
  const auto inner = size - 2;
  out.add(series.x.front(), series.y.front());
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    add_extremes(series, 1 + bucket * inner / buckets, 1 + (bucket + 1) * inner / buckets, out);
  }
  out.add(series.x.back(), series.y.back());
  return out;
}

Series smoothed(const Series& series, std::size_t half) {
  const auto size = series.size();
  std::vector<double> sum(size + 1, 0), count(size + 1, 0);
  for (std::size_t at = 0; at < size; ++at) {
    const bool counts = std::isfinite(series.y[at]);
    sum[at + 1] = sum[at] + (counts ? series.y[at] : 0);
    count[at + 1] = count[at] + (counts ? 1 : 0);
  }
  Series out{series.x, series.y};
  for (std::size_t at = 0; at < size; ++at) {
    const auto reach = std::min(half, at);
    const auto begin = at - reach, end = std::min(at + reach + 1, size);
    if (std::isfinite(series.y[at])) {
      out.y[at] = (sum[end] - sum[begin]) / (count[end] - count[begin]);
    }
  }
  return out;
}

Series since(const Series& series, double from) {
  Series out;
  for (std::size_t at = 0; at < series.size(); ++at) {
    if (series.x[at] >= from) out.add(series.x[at], series.y[at]);
  }
  return out;
}

std::vector<double> finite(const std::vector<double>& values) {
  std::vector<double> out;
  std::copy_if(values.begin(), values.end(), std::back_inserter(out),
               [](double value) { return std::isfinite(value); });
  return out;
}

double mean_of_last(const std::vector<double>& values, std::size_t count) {
  const auto good = finite(values);
  const auto used = std::min(count, good.size());
  if (used == 0) return kNone;
  const auto begin = good.end() - static_cast<std::ptrdiff_t>(used);
  return std::accumulate(begin, good.end(), 0.0) / static_cast<double>(used);
}

double median(const std::vector<double>& values) {
  auto good = finite(values);
  if (good.empty()) return kNone;
  std::sort(good.begin(), good.end());
  const auto upper = good.size() / 2;
  return good.size() % 2 == 1 ? good[upper] : (good[upper - 1] + good[upper]) / 2;
}

double last(const std::vector<double>& values) {
  return mean_of_last(values, 1);
}

}  // namespace evenkeel::report
