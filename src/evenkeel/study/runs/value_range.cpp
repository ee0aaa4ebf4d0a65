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
  if (best != low && best != high) return std::nullopt;
  const double ratio = best == high ? high / rising[rising.size() - 2] : low / rising[1];
  const auto further = with_digits(best * ratio, kValueDigits);
  const double number = std::stod(further);
  // Values that are nearer than the digits have no further one.
  return number < low || number > high ? std::optional(further) : std::nullopt;
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
