// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/refinement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/study/runs/value_range.h"

namespace evenkeel::study {

namespace {

/// NaN if a run is missing or crashed.
double mean_loss(const Study& study, const Arm& arm) {
  double sum = 0;
  for (const auto& run : arm.seed_runs) {
    const bool has_failed = run.state == SeedRun::State::failed;
    if (!has_failed && run.state != SeedRun::State::finished) return std::nan("");
    const double failure =
        study.fails_above > 0 ? study.fails_above : std::numeric_limits<double>::infinity();
    sum += has_failed ? failure : run.value;
  }
  return sum / static_cast<double>(arm.seed_runs.size());
}

/// The values that a group tries next.
/// \param losses  mean losses by value
/// \param low, high  ends of the grid
std::vector<std::string> next_values(const std::map<double, double>& losses, double low,
                                     double high, std::int64_t extend) {
  std::vector<double> values;
  std::int64_t beyond = 0;
  double best = losses.begin()->first;
  for (const auto& [value, loss] : losses) {
    if (std::isnan(loss)) return {};
    values.push_back(value);
    if (value < low || value > high) ++beyond;
    if (loss < losses.at(best)) best = value;
  }
  if (!std::isfinite(losses.at(best))) return {};
  const auto further = value_beyond(best, values);
  if (further && beyond < extend) return {*further};
  return values_between(best, values);
}

}  // namespace

std::vector<GridPoint> further_points(const std::vector<GridPoint>& points,
                                      const Results& results) {
  const auto& study = results.study;
  if (!study.refine) return {};
  const auto& axis = study.refine->axis;
  const auto number_on_axis = [&](const auto& labels) { return *number_of(labels.at(axis)); };
  std::map<Selection, std::map<double, double>> groups;
  for (const auto* const arm : all_arms(results)) {
    groups[remaining_labels(arm->labels, {{axis, ""}})][number_on_axis(arm->labels)] =
        mean_loss(study, *arm);
  }
  const auto by_value = [&](const auto& point) { return number_on_axis(point.labels); };
  const double low = number_on_axis(std::ranges::min_element(points, {}, by_value)->labels);
  const double high = number_on_axis(std::ranges::max_element(points, {}, by_value)->labels);
  std::vector<GridPoint> out;
  for (const auto& point : points) {  // in the order of the grid
    if (number_on_axis(point.labels) != low) continue;
    const auto& losses = groups.at(remaining_labels(point.labels, {{axis, ""}}));
    for (const auto& value : next_values(losses, low, high, study.refine->extend)) {
      out.push_back(moved(study, point, axis, value));
    }
  }
  return out;
}

}  // namespace evenkeel::study
