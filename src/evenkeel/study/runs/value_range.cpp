// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/value_range.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"

namespace evenkeel::study {

namespace {

constexpr int kValueDigits = 3;

}  // namespace

std::optional<std::string> value_beyond(double best, const std::vector<double>& rising) {
  if (rising.size() < 2) return std::nullopt;
  const double low = rising.front(), high = rising.back();
  if (best == high) return with_digits(high * high / rising[rising.size() - 2], kValueDigits);
  if (best == low) return with_digits(low * low / rising[1], kValueDigits);
  return std::nullopt;
}

std::vector<std::string> values_between(double best, const std::vector<double>& rising) {
  constexpr double kFinestRatio = 1.5;
  const auto place = std::ranges::find(rising, best);
  EK_ASSERT(place != rising.end());
  std::vector<std::string> out;
  const auto add = [&](double low, double high) {
    if (high / low > kFinestRatio) out.push_back(with_digits(std::sqrt(low * high), kValueDigits));
  };
  if (place != rising.begin()) add(*(place - 1), best);
  if (place + 1 != rising.end()) add(best, *(place + 1));
  return out;
}

}  // namespace evenkeel::study
