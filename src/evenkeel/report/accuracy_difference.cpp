// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/accuracy_difference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::report {

namespace {

constexpr double kNormal95 = 1.959963984540054;  // 97.5 % quantile of the normal distribution

}  // namespace

double sign_test_p(std::int64_t count, std::int64_t other_count) {
  const auto trials = count + other_count;
  const auto log_factorial = [](std::int64_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  double p = 0;
  for (auto more = std::max(count, other_count); more <= trials; ++more) {
    p += std::exp(log_factorial(trials) - log_factorial(more) - log_factorial(trials - more) -
                  static_cast<double>(trials) * std::log(2));
  }
  return std::min(1.0, 2 * p);
}

namespace {

/// Centre and half width of the 95 % interval: the interval of Wald after half a document was added
/// to each of the four kinds of documents.
std::pair<double, double> adjusted_interval(const AccuracyDifference& difference) {
  const auto b = static_cast<double>(difference.only_first) + 0.5;
  const auto c = static_cast<double>(difference.only_second) + 0.5;
  const auto n = static_cast<double>(difference.documents) + 2;
  return {(b - c) / n, kNormal95 * std::sqrt(b + c - (b - c) * (b - c) / n) / n};
}

}  // namespace

double AccuracyDifference::low() const {
  const auto [centre, width] = adjusted_interval(*this);
  return std::max(-1.0, centre - width);
}

double AccuracyDifference::high() const {
  const auto [centre, width] = adjusted_interval(*this);
  return std::min(1.0, centre + width);
}

AccuracyDifference accuracy_difference(const std::vector<bool>& first,
                                       const std::vector<bool>& second) {
  EK_ASSERT(!first.empty() && first.size() == second.size());
  AccuracyDifference result;
  result.documents = static_cast<std::int64_t>(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    result.only_first += first[i] && !second[i] ? 1 : 0;
    result.only_second += second[i] && !first[i] ? 1 : 0;
  }
  const auto n = static_cast<double>(result.documents);
  const auto b = static_cast<double>(result.only_first);
  const auto c = static_cast<double>(result.only_second);
  result.difference = (b - c) / n;
  result.standard_error = std::sqrt(b + c - (b - c) * (b - c) / n) / n;
  result.p = sign_test_p(result.only_first, result.only_second);
  return result;
}

}  // namespace evenkeel::report
