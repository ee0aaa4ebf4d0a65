// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/sweep_columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/study/analysis/sweep.h"
#include "evenkeel/study/report/number_format.h"

namespace evenkeel::study {

namespace {

/// The mean loss at each value of the axis; infinity where a run is missing.
std::vector<double> mean_losses(const Arm& swept) {
  std::vector<double> sums(swept.swept_losses.front().size());
  for (const auto& row : swept.swept_losses) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
  }
  for (auto& sum : sums) {
    sum = std::isnan(sum) ? INFINITY : sum / static_cast<double>(swept.swept_losses.size());
  }
  return sums;
}

/// False for a further value (Study::refine).
bool is_of_the_grid(const Study& study, const std::string& name, const std::string& label) {
  const auto axis = std::ranges::find(study.axes, name, &Axis::name);
  return axis != study.axes.end() &&
         std::ranges::find(axis->values, label, &AxisValue::label) != axis->values.end();
}

}  // namespace

std::vector<Column> sweep_columns(const Measure& measure) {
  return {{"best " + measure.axis}, {"sensitivity", Column::Kind::number}};
}

SweepSummary sweep_summary(const Results& results, const Arm& swept) {
  const auto& measure = compared_measure(results.study);
  const auto members = members_of(results, swept, measure);
  const auto means = mean_losses(swept);
  EK_ASSERT(members.size() == means.size());
  const auto best = std::ranges::min_element(means);
  const bool is_known = std::ranges::all_of(means, [](double mean) { return std::isfinite(mean); });
  if (!is_known || *best >= measure.cap) return {};  // runs are missing, or none trains
  std::vector<double> x;                             // of the grid
  std::vector<std::vector<double>> losses(swept.swept_losses.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& label = members[i]->labels.at(measure.axis);
    if (!is_of_the_grid(results.study, measure.axis, label)) continue;
    x.push_back(*number_of(label));
    for (std::size_t seed = 0; seed < losses.size(); ++seed)
      losses[seed].push_back(swept.swept_losses[seed][i]);
  }
  auto sensitivities = sweep_values(Measure::Sweep::sensitivity, x, losses, measure.cap);
  return {.best = members[static_cast<std::size_t>(best - means.begin())]->labels.at(measure.axis),
          .is_at_edge = best == means.begin() || best == means.end() - 1,
          .sensitivities = std::move(sensitivities)};
}

std::vector<Cell> sweep_cells(const Results& results, const Arm& swept) {
  const auto summary = sweep_summary(results, swept);
  if (summary.best.empty()) return {{kNoValue}, {kNoValue}};
  return {{summary.best + (summary.is_at_edge ? ", at the edge" : ""),
           summary.is_at_edge ? "inconclusive" : ""},
          {mean_text(summary.sensitivities, compared_measure(results.study))}};
}

Arm all_runs_of(const Results& results, const Arm& swept) {
  Arm out{.name = swept.name};
  for (const auto* const member : members_of(results, swept, compared_measure(results.study))) {
    out.seed_runs.insert(out.seed_runs.end(), member->seed_runs.begin(), member->seed_runs.end());
  }
  return out;
}

std::string sweep_footnote(const Study& study) {
  const auto& measure = compared_measure(study);
  const bool is_refined = study.refine && study.refine->axis == measure.axis;
  return text(" Best ", measure.axis, ": the value with the lowest mean loss over all seeds",
              is_refined ? ", with further values near it" : "",
              "; at the edge: a lower loss may lie outside of the range. Sensitivity: mean loss ",
              "over the logarithm of ", measure.axis, " less the lowest, nats per token",
              is_refined ? ", over the values of the grid" : "",
              "; a failed run counts as the cap.");
}

}  // namespace evenkeel::study
