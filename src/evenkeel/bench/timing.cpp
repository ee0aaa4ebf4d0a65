// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

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

}  // namespace

double Timing::least() const {
  EK_ASSERT(!seconds.empty());
  return *std::min_element(seconds.begin(), seconds.end());
}

double Timing::median() const {
  return median_of(seconds);
}

std::vector<Timing> interleaved_timings(const std::vector<Arm>& arms, int rounds, int warmups,
                                        int calls) {
  std::vector<Timing> timings;
  timings.reserve(arms.size());
  for (const auto& arm : arms) timings.push_back({arm.name, {}});
  for (int round = -warmups; round < rounds; ++round) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const auto which = round % 2 == 0 ? i : arms.size() - 1 - i;
      const double seconds = seconds_of(arms[which], calls);
      if (round >= 0) timings[which].seconds.push_back(seconds);
    }
  }
  return timings;
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

int calls_for(const Arm& arm, double seconds) {
  seconds_of(arm, 1);  // warm-up
  const double once = seconds_of(arm, 1);
  return std::clamp(static_cast<int>(seconds / std::max(once, 1e-9)), 1, 1000);
}

}  // namespace evenkeel::bench
