// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/shrinkage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/report/series.h"

namespace evenkeel::study {

namespace {

/// The weighted mean of estimates and the weighted sum of their squared distances from it.
struct Dispersion {
  double mean = 0, squares = 0;
};

Dispersion dispersion_of(const std::vector<double>& estimates, const std::vector<double>& errors,
                         double variance) {
  double weights = 0, sum = 0;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const double weight = 1 / (variance + errors[i] * errors[i]);
    weights += weight;
    sum += weight * estimates[i];
  }
  Dispersion out{.mean = sum / weights, .squares = 0};
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const double distance = estimates[i] - out.mean;
    out.squares += distance * distance / (variance + errors[i] * errors[i]);
  }
  return out;
}

/// The variance at which the dispersion is its expectation, count - 1; 0 if it is never above.
double variance_of_true_values(const std::vector<double>& estimates,
                               const std::vector<double>& errors) {
  const auto expected = static_cast<double>(estimates.size() - 1);
  if (dispersion_of(estimates, errors, 0).squares <= expected) return 0;
  const auto [least, most] = std::minmax_element(estimates.begin(), estimates.end());
  const double range = *most - *least;
  double low = 0, high = range * range;  // there it is at most count / 4
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (dispersion_of(estimates, errors, middle).squares > expected ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::vector<double> shrunken_means(const std::vector<double>& estimates,
                                   const std::vector<double>& errors) {
  EK_ASSERT(estimates.size() == errors.size());
  constexpr std::size_t kLeast = 3;
  std::vector<double> uncertain, their_errors;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (errors[i] == 0) continue;
    uncertain.push_back(estimates[i]);
    their_errors.push_back(errors[i]);
  }
  if (uncertain.size() < kLeast) return estimates;
  const double variance = variance_of_true_values(uncertain, their_errors);
  const double mean = dispersion_of(uncertain, their_errors, variance).mean;
  auto out = estimates;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (errors[i] == 0) continue;
    out[i] = mean + variance / (variance + errors[i] * errors[i]) * (estimates[i] - mean);
  }
  return out;
}

namespace {

/// So many differences have a median and a spread of their own, which unstable arms do not move.
constexpr std::size_t kMany = 10;

/// The deviation of a difference, pooled over arms: with few seeds that of a single arm is too
/// uncertain, and a small one would hardly shrink. Of many arms it is the median, because a few
/// unstable arms have many times the deviation of all other arms.
double pooled_deviation(const std::vector<Verdict*>& compared) {
  double squares = 0, degrees = 0;
  std::vector<double> variances;
  for (const auto* const verdict : compared) {
    const auto& difference = *verdict->difference;
    const auto free = static_cast<double>(difference.pairs - 1);
    const double variance = difference.standard_deviation * difference.standard_deviation;
    squares += free * variance;
    degrees += free;
    const double median_ratio = std::pow(1 - 2 / (9 * free), 3);  // of chi^2 / degrees
    variances.push_back(variance / median_ratio);
  }
  return std::sqrt(compared.size() < kMany ? squares / degrees : report::median(variances));
}

/// The differences that are shrunken together: of many, those within five deviations of the median
/// (by the median absolute deviation). An arm that hardly trains says nothing about all others.
std::vector<Verdict*> without_outliers(const std::vector<Verdict*>& compared) {
  if (compared.size() < kMany) return compared;
  constexpr double kFar = 5, kNormal = 1.4826;
  std::vector<double> means, distances;
  for (const auto* const verdict : compared) means.push_back(verdict->difference->mean);
  const double middle = report::median(means);
  for (const double mean : means) distances.push_back(std::abs(mean - middle));
  const double reach = kFar * kNormal * report::median(distances);
  std::vector<Verdict*> out;
  for (auto* const verdict : compared) {
    if (std::abs(verdict->difference->mean - middle) <= reach) out.push_back(verdict);
  }
  return out;
}

/// Shrinks the differences from one baseline.
void shrink_group(const std::vector<Verdict*>& compared) {
  for (auto* const verdict : compared) verdict->shrunken = verdict->difference->mean;
  const double deviation = pooled_deviation(compared);
  const auto alike = without_outliers(compared);
  std::vector<double> estimates, errors;
  for (const auto* const verdict : alike) {
    estimates.push_back(verdict->difference->mean);
    errors.push_back(deviation / std::sqrt(static_cast<double>(verdict->difference->pairs)));
  }
  const auto shrunken = shrunken_means(estimates, errors);
  for (std::size_t i = 0; i < alike.size(); ++i) alike[i]->shrunken = shrunken[i];
}

}  // namespace

void shrink_differences(Results& results) {
  std::map<std::string, std::vector<Verdict*>> by_baseline;
  for (auto& verdict : results.baseline_verdicts) {
    verdict.shrunken.reset();
    if (verdict.difference) by_baseline[verdict.reference].push_back(&verdict);
  }
  for (const auto& [baseline, compared] : by_baseline) shrink_group(compared);
}

}  // namespace evenkeel::study
