// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/base/error.h"
#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::bench {

namespace {

double seconds_of(const Arm& arm, int calls) {
  ops::synchronize_gpu();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) arm.run();
  ops::synchronize_gpu();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / calls;
}

double median_of(std::vector<double> values) {
  EK_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The number k of sorted values that may be dropped on each side, so that the rest covers the
/// median with at least 95 % confidence: P(Binomial(count, 1/2) <= k) <= 0.025. Below six values k
/// is 0.
std::size_t trim_count(std::size_t count) {
  double term = std::pow(0.5, static_cast<double>(count));
  double tail = term;
  for (std::size_t k = 0;; ++k) {
    term *= static_cast<double>(count - k) / static_cast<double>(k + 1);
    tail += term;
    if (tail > 0.025 || 2 * (k + 1) >= count) return k;
  }
}

std::vector<Timing> empty_timings(const std::vector<Arm>& arms) {
  std::vector<Timing> timings;
  timings.reserve(arms.size());
  for (const auto& arm : arms) timings.push_back({arm.name, {}});
  return timings;
}

/// Seconds per call of each arm. Odd rounds run the arms backwards.
std::vector<double> seconds_of_round(const std::vector<Arm>& arms, int round, int calls) {
  std::vector<double> seconds(arms.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto which = round % 2 == 0 ? i : arms.size() - 1 - i;
    seconds[which] = seconds_of(arms[which], calls);
  }
  return seconds;
}

void append_round(std::vector<Timing>& timings, const std::vector<double>& seconds) {
  for (std::size_t i = 0; i < timings.size(); ++i) timings[i].seconds.push_back(seconds[i]);
}

/// The number k of sorted ratios of m and n times that may be dropped on each side, so that the
/// rest covers the shift with at least 95 % confidence: P(U < k) <= 0.025 for the statistic U of
/// Mann and Whitney, whose distribution counts the orders of m and n values. Above 50 times 50 it
/// is close to a normal distribution.
std::size_t mann_whitney_trim(std::size_t m, std::size_t n) {
  constexpr std::size_t kExact = 2500;
  if (m * n > kExact) {
    const auto pairs = static_cast<double>(m * n);
    const double deviation = std::sqrt(pairs * static_cast<double>(m + n + 1) / 12);
    return static_cast<std::size_t>(std::max(0.0, std::floor(pairs / 2 - 1.96 * deviation)));
  }
  // ways[j][u]: orders of i values of one sample and j of the other with U = u, for i = 0 .. m
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(m * n + 1, 0));
  for (auto& row : ways) row[0] = 1;
  for (std::size_t i = 1; i <= m; ++i) {
    for (std::size_t j = 1; j <= n; ++j) {
      for (std::size_t u = m * n; u >= i; --u) ways[j][u] += ways[j - 1][u - i];
    }
  }
  double all = 0, tail = 0;
  for (const double count : ways[n]) all += count;
  for (std::size_t k = 0; k <= m * n; ++k) {
    tail += ways[n][k] / all;
    if (tail > 0.025) return k;
  }
  return m * n;
}

}  // namespace

double Timing::least() const {
  EK_ASSERT(!seconds.empty());
  return *std::min_element(seconds.begin(), seconds.end());
}

double Timing::median() const {
  return median_of(seconds);
}

double Timing::quartile(int which) const {
  EK_ASSERT(!seconds.empty() && (which == 1 || which == 3));
  auto sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const double place = static_cast<double>(sorted.size() - 1) * which / 4;
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

std::vector<Timing> interleaved_timings(const std::vector<Arm>& arms, int rounds, int warmups,
                                        int calls) {
  auto timings = empty_timings(arms);
  for (int round = -warmups; round < rounds; ++round) {
    const auto seconds = seconds_of_round(arms, round, calls);
    if (round >= 0) append_round(timings, seconds);
  }
  return timings;
}

std::optional<double> contention_during(const std::function<void()>& function) {
  constexpr double kLongEnough = 0.5;  // seconds, 50 ticks
  const CpuContention contention;
  const auto start = std::chrono::steady_clock::now();
  function();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return spent.count() < kLongEnough ? std::nullopt : contention.share();
}

Rounds repeated_timings(const std::vector<Arm>& arms, int rounds, const ShareDuring& share_during) {
  Rounds result;
  result.timings = empty_timings(arms);
  result.contention = 0;
  for (int round = -2; round < 0; ++round) seconds_of_round(arms, round, 1);
  for (int round = 0; round < rounds;) {
    std::vector<double> seconds;
    const auto share = share_during([&] { seconds = seconds_of_round(arms, round, 1); });
    if (share.value_or(0) > CpuContention::kMaxShare && result.repeated < rounds) {
      ++result.repeated;
      continue;
    }
    if (!share) result.contention.reset();
    if (result.contention) result.contention = std::max(*result.contention, *share);
    append_round(result.timings, seconds);
    ++round;
  }
  return result;
}

double range_confidence(int rounds) {
  return 1 - std::pow(0.5, rounds - 1);  // less the chance that all are on one side
}

Ratio ratio(const Timing& one, const Timing& other) {
  EK_ASSERT(one.seconds.size() == other.seconds.size());
  std::vector<double> ratios;
  ratios.reserve(one.seconds.size());
  for (std::size_t i = 0; i < one.seconds.size(); ++i) {
    ratios.push_back(one.seconds[i] / other.seconds[i]);
  }
  Ratio result;
  result.median = median_of(ratios);
  std::sort(ratios.begin(), ratios.end());
  const auto out = trim_count(ratios.size());
  result.low = ratios[out];
  result.high = ratios[ratios.size() - 1 - out];
  result.least = one.least() / other.least();
  return result;
}

Ratio unpaired_ratio(const std::vector<double>& one, const std::vector<double>& other) {
  EK_ASSERT(!one.empty() && !other.empty());
  std::vector<double> ratios;
  ratios.reserve(one.size() * other.size());
  for (const double mine : one) {
    for (const double theirs : other) ratios.push_back(mine / theirs);
  }
  std::sort(ratios.begin(), ratios.end());
  Ratio result;
  result.median = median_of(ratios);
  result.least =
      *std::min_element(one.begin(), one.end()) / *std::min_element(other.begin(), other.end());
  const auto trim = mann_whitney_trim(one.size(), other.size());
  const double infinity = std::numeric_limits<double>::infinity();
  result.low = trim == 0 ? 0 : ratios[trim - 1];
  result.high = trim == 0 ? infinity : ratios[ratios.size() - trim];
  return result;
}

int calls_for(const Arm& arm, double seconds) {
  seconds_of(arm, 1);  // warm-up
  const double once = seconds_of(arm, 1);
  return std::clamp(static_cast<int>(seconds / std::max(once, 1e-9)), 1, 1000);
}

}  // namespace evenkeel::bench
