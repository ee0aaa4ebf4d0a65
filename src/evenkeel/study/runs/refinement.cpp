// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/refinement.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/study/runs/value_range.h"

namespace evenkeel::study {

namespace {

/// The mean loss, at most `cap` of a run; NaN if one is missing or crashed.
double mean_loss(const Arm& arm, double cap) {
  double sum = 0;
  for (const auto& run : arm.seed_runs) {
    const bool has_failed = run.state == SeedRun::State::failed;
    if (!has_failed && run.state != SeedRun::State::finished) return std::nan("");
    sum += has_failed ? cap : std::min(run.value, cap);
  }
  return sum / static_cast<double>(arm.seed_runs.size());
}

/// The values that a group tries next.
/// \param losses  mean losses by value
/// \param low, high  ends of the grid
/// \param accepts  whether the key may have a value
std::vector<std::string> next_values(const std::map<double, double>& losses, double low,
                                     double high, const Refinement& refine,
                                     const std::function<bool(const std::string&)>& accepts) {
  std::vector<double> values;
  std::int64_t beyond = 0;
  double best = losses.begin()->first;
  for (const auto& [value, loss] : losses) {
    if (std::isnan(loss)) return {};
    values.push_back(value);
    if (value < low || value > high) ++beyond;
    if (loss < losses.at(best)) best = value;
  }
  if (losses.at(best) >= refine.cap) return {};  // none trains
  const auto further = value_beyond(best, values);
  if (further && beyond < refine.extend && accepts(*further)) return {*further};
  auto between = values_between(best, values);
  std::erase_if(between, [&](const auto& value) { return !accepts(value); });
  return between;
}

}  // namespace

std::vector<GridPoint> further_points(const std::vector<GridPoint>& points, const Results& results,
                                      const Accepts& accepts) {
  const auto& study = results.study;
  if (!study.refine) return {};
  const auto& axis = study.refine->axis;
  const auto number_on_axis = [&](const auto& labels) { return *number_of(labels.at(axis)); };
  std::map<Selection, std::map<double, double>> groups;
  for (const auto* const arm : all_arms(results)) {
    groups[remaining_labels(arm->labels, {{axis, ""}})][number_on_axis(arm->labels)] =
        mean_loss(*arm, study.refine->cap);
  }
  const auto by_value = [&](const auto& point) { return number_on_axis(point.labels); };
  const double low = by_value(*std::ranges::min_element(points, {}, by_value));
  const double high = by_value(*std::ranges::max_element(points, {}, by_value));
  std::vector<GridPoint> out;
  for (const auto& point : points) {  // one of each group, in the order of the grid
    if (by_value(point) != low) continue;
    const auto may_have = [&](const std::string& value) {
      return accepts(study, with_value(study, point, axis, value));
    };
    const auto& losses = groups.at(remaining_labels(point.labels, {{axis, ""}}));
    for (const auto& value : next_values(losses, low, high, *study.refine, may_have))
      out.push_back(with_value(study, point, axis, value));
  }
  return out;
}

void check_further_values(const Study& study, const std::vector<GridPoint>& points) {
  if (!study.refine) return;
  const auto& axis = study.refine->axis;
  std::set<double> values;
  for (const auto& point : points) values.insert(*number_of(point.labels.at(axis)));
  for (const auto& point : points) {
    const double value = *number_of(point.labels.at(axis));
    for (const auto& between : values_between(value, {values.begin(), values.end()})) {
      const auto why = refusal_of(study, with_value(study, point, axis, between));
      if (why.empty()) continue;
      throw Error(Exit::usage, text("study ", study.name, ": [refine]: a value between those of ",
                                    axis, " is refused; leave [refine] out (", why, ")"));
    }
  }
}

std::size_t expected_further_points(const Study& study, const std::vector<GridPoint>& points) {
  if (!study.refine) return 0;
  std::set<double> values;
  for (const auto& point : points) values.insert(*number_of(point.labels.at(study.refine->axis)));
  const auto of_the_grid = values.size();
  const double best = *std::next(values.begin(), static_cast<std::ptrdiff_t>(of_the_grid) / 2);
  for (auto between = values_between(best, {values.begin(), values.end()}); !between.empty();
       between = values_between(best, {values.begin(), values.end()})) {
    for (const auto& each : between) values.insert(*number_of(each));
  }
  return (values.size() - of_the_grid) * (points.size() / of_the_grid);
}

}  // namespace evenkeel::study
