// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/power_law.h"

#include <cmath>

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

/// The least-squares line through the logarithms.
struct LogLine {
  double points = 0, x_mean = 0, y_mean = 0;
  double xx = 0;  // sum of squared deviations of x from its mean
  double slope = 0;
  double deviation = 0;  // of the residuals, divisor degrees(); NaN without a degree of freedom

  double degrees() const { return points - 2; }  // the line has two parameters
  double at(double x) const { return y_mean + slope * (x - x_mean); }
};

LogLine log_line(const std::vector<double>& sizes, const std::vector<double>& values) {
  EK_ASSERT(sizes.size() == values.size() && sizes.size() >= 2);
  const std::vector<double> x = logarithms(sizes);
  const std::vector<double> y = logarithms(values);
  LogLine out{.points = static_cast<double>(x.size()), .x_mean = mean(x), .y_mean = mean(y)};
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.xx += (x[i] - out.x_mean) * (x[i] - out.x_mean);
    xy += (x[i] - out.x_mean) * (y[i] - out.y_mean);
  }
  EK_ASSERT(out.xx > 0);
  out.slope = xy / out.xx;
  double residual = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    residual += (y[i] - out.at(x[i])) * (y[i] - out.at(x[i]));
  }
  out.deviation = out.degrees() > 0 ? std::sqrt(residual / out.degrees()) : std::nan("");
  return out;
}

/// The half width of a 95 % interval by Student's t.
/// \param scale  standard error over LogLine::deviation
double half_width(const LogLine& line, double scale) {
  if (line.degrees() <= 0) return std::nan("");
  return t_critical_value(line.degrees()) * line.deviation * scale;
}

}  // namespace

double PowerLaw::at(double size) const {
  return factor * std::pow(size, -exponent);
}

PowerLaw power_law(const std::vector<double>& sizes, const std::vector<double>& values) {
  const auto line = log_line(sizes, values);
  const double half = half_width(line, 1 / std::sqrt(line.xx));
  return {.factor = std::exp(line.at(0)),
          .exponent = -line.slope,
          .exponent_interval = {.low = -line.slope - half, .high = -line.slope + half}};
}

Interval prediction_interval(const std::vector<double>& sizes, const std::vector<double>& values,
                             double size, std::size_t new_values) {
  EK_ASSERT(size > 0 && new_values >= 1);
  const auto line = log_line(sizes, values);
  const double x = std::log(size);
  const double distance = x - line.x_mean;
  const double variance =
      1 / static_cast<double>(new_values) + 1 / line.points + distance * distance / line.xx;
  const double half = half_width(line, std::sqrt(variance));
  return {.low = std::exp(line.at(x) - half), .high = std::exp(line.at(x) + half)};
}

}  // namespace evenkeel::study
