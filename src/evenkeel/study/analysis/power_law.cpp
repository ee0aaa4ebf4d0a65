// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/power_law.h"

#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"

namespace evenkeel::study {

namespace {

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values) {
    EK_ASSERT(value > 0 && std::isfinite(value));
    result.push_back(std::log(value));
  }
  return result;
}

double mean(const std::vector<double>& values) {
  const double first = values.front();  // relative to it, equal values have exactly their mean
  double sum = 0;
  for (const double value : values) sum += value - first;
  return first + sum / static_cast<double>(values.size());
}

}  // namespace

double PowerLaw::at(double size) const {
  return factor * std::pow(size, -exponent);
}

PowerLaw power_law(const std::vector<double>& sizes, const std::vector<double>& values) {
  EK_ASSERT(sizes.size() == values.size() && sizes.size() >= 2);
  const std::vector<double> x = logarithms(sizes);
  const std::vector<double> y = logarithms(values);
  const double x_mean = mean(x), y_mean = mean(y);
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  EK_ASSERT(xx > 0);
  const double slope = xy / xx;
  double residual = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = y[i] - y_mean - slope * (x[i] - x_mean);
    residual += off * off;
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const double degrees = static_cast<double>(x.size()) - 2;  // the line has two parameters
  const double half_width =
      degrees > 0 ? t_critical_value(degrees) * std::sqrt(residual / degrees / xx) : kNaN;
  return {.factor = std::exp(y_mean - slope * x_mean),
          .exponent = -slope,
          .exponent_interval = {.low = -slope - half_width, .high = -slope + half_width}};
}

}  // namespace evenkeel::study
