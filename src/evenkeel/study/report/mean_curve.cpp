// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/mean_curve.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "evenkeel/base/error.h"

namespace evenkeel::study {

namespace {

/// The mean of the y values of all curves at one x.
double mean_over(const std::vector<double>& values, Averaging kind) {
  double sum = 0;
  for (const double value : values) sum += kind == Averaging::geometric ? std::log(value) : value;
  const double mean = sum / static_cast<double>(values.size());
  return kind == Averaging::geometric ? std::exp(mean) : mean;
}

bool is_good(double value, Averaging kind) {
  return std::isfinite(value) && (kind == Averaging::arithmetic || value > 0);
}

}  // namespace

report::Line mean_curve(const std::vector<report::Series>& curves, Averaging kind,
                        const CurveSpec& spec) {
  std::map<double, std::vector<double>> all;
  for (const auto& curve : curves) {
    std::map<double, double> own;  // of a step that was done twice the last
    for (std::size_t at = 0; at < curve.size(); ++at) {
      if (is_good(curve.y[at], kind)) own[curve.x[at]] = curve.y[at];
    }
    for (const auto& [x, y] : own) all[x].push_back(y);
  }
  report::Line line{spec.name, {}, spec.style.colour, spec.style.dash};
  for (const auto& [x, values] : all) {
    if (values.size() < curves.size()) continue;
    line.points.add(x, mean_over(values, kind));
    if (curves.size() < 2) continue;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    line.bounds.low.push_back(*least);
    line.bounds.high.push_back(*most);
  }
  return line;
}

std::string bands_text(const std::vector<std::size_t>& counts, Averaging kind) {
  if (counts.empty()) return {};
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  if (*most < 2) return "One run each: no band.";
  const auto range = *fewest == *most ? text(*most) : text(*fewest, " to ", *most);
  const auto* const mean = kind == Averaging::geometric ? "Geometric means" : "Means";
  return text(mean, " over ", range, " seeds, with bands from the least to the largest.");
}

}  // namespace evenkeel::study
