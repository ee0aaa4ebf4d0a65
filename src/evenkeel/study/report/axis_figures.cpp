// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/axis_figures.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/report/panels.h"

namespace evenkeel::study {

namespace {

constexpr std::size_t kMaxAxisPanels = 8;

/// An axis whose labels are numbers, from the lowest.
struct NumericAxis {
  std::string name;
  std::vector<report::Tick> ticks;

  bool is_logarithmic() const {
    constexpr double kWide = 8;
    const double low = ticks.front().at, high = ticks.back().at;
    return low > 0 && (name == "schedule.peak" || high >= kWide * low);
  }
};

std::vector<NumericAxis> numeric_axes(const Study& study) {
  std::vector<NumericAxis> out;
  for (const auto& study_axis : study.axes) {
    NumericAxis axis{study_axis.name, {}};
    for (const auto& value : study_axis.values) {
      const auto number = number_of(value.label);
      if (number) axis.ticks.push_back({*number, value.label});
    }
    if (axis.ticks.size() < 2 || axis.ticks.size() < study_axis.values.size()) continue;
    std::sort(axis.ticks.begin(), axis.ticks.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    out.push_back(std::move(axis));
  }
  return out;
}

/// The arms of a curve, and further arms near the best of them, from the lowest value of the axis.
std::vector<const Arm*> arms_along(const Results& results, const NumericAxis& axis,
                                   const CurveSpec& spec) {
  std::vector<const Arm*> out;
  out.reserve(spec.arms.size() + results.further_arms.size());
  for (const auto at : spec.arms) out.push_back(&results.arms[at]);
  const bool is_refined = results.study.refine && results.study.refine->axis == axis.name;
  const auto rest = remaining_labels(out.front()->labels, {{axis.name, ""}});
  for (const auto& arm : results.further_arms) {
    if (is_refined && matches(arm.labels, rest)) out.push_back(&arm);
  }
  std::ranges::stable_sort(out, {},
                           [&](const Arm* arm) { return *number_of(arm->labels.at(axis.name)); });
  return out;
}

/// The measure of the curve's arms along the axis, with intervals.
report::Line line_of(const Results& results, const NumericAxis& axis, const CurveSpec& spec) {
  report::Line line{spec.name, {}, spec.style.colour, spec.style.dash, report::Stroke::dotted};
  line.bounds.as = report::ErrorBounds::As::bars;
  for (const auto* const arm : arms_along(results, axis, spec)) {
    const auto values = finished_values(*arm);
    const auto interval =
        values.size() < 2 ? Interval{std::nan(""), std::nan("")} : mean_estimate(values).interval;
    const auto& measure = results.study.measure;
    line.points.add(*number_of(arm->labels.at(axis.name)),
                    display_value(mean_value(*arm), measure));
    line.bounds.low.push_back(display_value(interval.low, measure));
    line.bounds.high.push_back(display_value(interval.high, measure));
  }
  return line;
}

/// Crosses where runs of the curve failed.
void add_crosses(const Results& results, const NumericAxis& axis, const CurveSpec& spec,
                 report::Chart& chart) {
  for (const auto* const arm : arms_along(results, axis, spec)) {
    const auto failed = run_count(*arm, SeedRun::State::failed);
    if (failed == 0) continue;
    chart.crosses.push_back({*number_of(arm->labels.at(axis.name)), spec.style.colour,
                             text(arm->name, ": failed ", failed, " of ", arm->seed_runs.size())});
  }
}

/// The arms of the curves along the axis: "post_norm at 0.004", "post_norm at 0.008".
/// \param at  the words between the curve and the value: "at", "failed at"
std::vector<NamedArm> named_places(const Results& results, const NumericAxis& axis,
                                   const Panel& panel, const char* at) {
  std::vector<NamedArm> out;
  for (const auto& spec : panel.curve_specs) {
    for (const auto* const arm : arms_along(results, axis, spec)) {
      out.push_back(
          {text(spec.name, spec.name.empty() ? "" : " ", at, ' ', arm->labels.at(axis.name)), arm});
    }
  }
  return out;
}

std::string axis_figures_note_of(const Results& results, const NumericAxis& axis,
                                 const Panel& panel) {
  const bool has_interval = results.study.seeds.size() > 1;
  const auto has_cross = [](const SeedRun& run) { return run.state == SeedRun::State::failed; };
  const auto crosses = run_counts_text(named_places(results, axis, panel, "failed at"), has_cross);
  return text(panel.note, panel.note.empty() ? "" : " ",
              has_interval ? "Means with 95 % intervals." : "One run each: no intervals.",
              crosses.empty() ? "" : " Crosses: " + crosses + ".",
              unfinished_runs_note(named_places(results, axis, panel, "at"), has_cross));
}

std::string axis_figures_figure_of(const Results& results, const NumericAxis& axis,
                                   const Panel& panel) {
  constexpr double kApart = 3;
  const auto& measure = results.study.measure;
  auto title = measure.name();
  title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  const bool is_of_values = uses_sign_flips(measure);
  report::Chart chart{
      text(title, " against ", axis.name, panel.where.empty() ? "" : ", " + panel.where),
      is_of_values ? "" : measure.unit()};
  if (is_of_values) chart.scale = report::Scale::logarithmic;
  chart.x_label = axis.name;
  chart.logarithmic_x = axis.is_logarithmic();
  chart.x_ticks = axis.ticks;
  const auto middle = (static_cast<double>(panel.curve_specs.size()) - 1) / 2;
  for (std::size_t i = 0; i < panel.curve_specs.size(); ++i) {
    auto line = line_of(results, axis, panel.curve_specs[i]);
    const auto crosses = chart.crosses.size();
    add_crosses(results, axis, panel.curve_specs[i], chart);
    const bool has_crosses = chart.crosses.size() > crosses;
    if (report::finite_values(line.points.y).empty() && !has_crosses) continue;
    line.shift = kApart * (static_cast<double>(i) - middle);
    chart.lines.push_back(std::move(line));
  }
  chart.note = axis_figures_note_of(results, axis, panel);
  if (is_of_values) chart.note += " A point below the lowest value: runs fail there already.";
  chart.when_empty = measure.kind == Measure::Kind::sweep
                         ? "No arm has all runs, of two seeds or more."
                         : "No run is finished.";
  return figure(chart);
}

}  // namespace

std::string axis_figures(const Results& results) {
  std::string out;
  for (const auto& axis : numeric_axes(results.study)) {
    for (const auto& panel : panels(results, axis.name, kMaxAxisPanels)) {
      out += axis_figures_figure_of(results, axis, panel);
    }
  }
  return out;
}

}  // namespace evenkeel::study
