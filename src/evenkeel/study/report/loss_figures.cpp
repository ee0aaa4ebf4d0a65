// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/loss_figures.h"

#include <algorithm>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/mean_curve.h"

namespace evenkeel::study {

namespace {

constexpr std::size_t kMinPoints = 3;

/// The loss that the figure draws for every run.
struct Quantity {
  bool is_validation = true;

  std::string title() const { return is_validation ? "Validation loss" : "Training loss"; }
  report::Series of(const report::Run& run) const {
    if (is_validation) return run.validation_loss;
    return report::smoothed(run.loss, report::half_window(run.loss.size()));
  }
};

Quantity quantity_of(const Results& results) {
  for (const auto& arm : results.arms) {
    for (const auto& seed_run : arm.seed_runs) {
      if (seed_run.state != SeedRun::State::finished) continue;
      if (report::finite_values(seed_run.run.validation_loss.y).size() < kMinPoints) return {false};
    }
  }
  return {};
}

report::Chart chart_of(const Results& results, const Panel& panel, const Quantity& quantity) {
  report::Chart chart{quantity.title() + (panel.where.empty() ? "" : ", " + panel.where),
                      "nats per token"};
  std::vector<std::size_t> counts;
  for (const auto& spec : panel.curve_specs) {
    std::vector<report::Series> curves;
    for (const auto at : spec.arms) {
      for (const auto& seed_run : results.arms[at].seed_runs) {
        if (seed_run.state != SeedRun::State::finished) continue;
        curves.push_back(quantity.of(seed_run.run));
      }
    }
    if (curves.empty()) continue;
    counts.push_back(curves.size());
    chart.lines.push_back(mean_curve(curves, Averaging::arithmetic, spec));
  }
  chart.note = text(
      panel.note, panel.note.empty() ? "" : " ", quantity.is_validation ? "" : "Moving means. ",
      bands_text(counts, Averaging::arithmetic), unfinished_runs_note(results, panel));
  chart.when_empty = "No run is finished.";
  return chart;
}

/// The part of the line after `from`.
report::Line since(const report::Line& line, double from) {
  auto out = line;
  out.points = report::from_x(line.points, from);
  const auto gone = static_cast<std::ptrdiff_t>(line.points.size() - out.points.size());
  for (auto* values : {&out.bounds.low, &out.bounds.high}) {
    if (!values->empty()) values->erase(values->begin(), values->begin() + gone);
  }
  return out;
}

/// The second half of the curves, with an axis of its own; "" if no curve has two points there.
std::string second_half_figure(report::Chart chart) {
  double furthest = 0;
  std::size_t most = 0;
  for (const auto& line : chart.lines) {
    if (line.points.size() > 0) furthest = std::max(furthest, line.points.x.back());
  }
  for (auto& line : chart.lines) {
    line = since(line, furthest / 2);
    most = std::max(most, line.points.size());
  }
  if (most < 2) return "";
  chart.title += ", second half";
  chart.note.clear();
  chart.has_legend = false;
  return figure(chart);
}

/// True for runs of which a CSV has the last losses alone.
bool are_recorded(const Results& results) {
  return std::ranges::any_of(results.arms, [](const Arm& arm) {
    return std::ranges::any_of(arm.seed_runs,
                               [](const SeedRun& run) { return !run.recorded.empty(); });
  });
}

}  // namespace

std::string loss_figures(const Results& results) {
  if (are_recorded(results)) return "";
  const auto quantity = quantity_of(results);
  std::string out;
  for (const auto& panel : panels(results, "", kMaxLossPanels)) {
    const auto chart = chart_of(results, panel, quantity);
    out += figure(chart) + second_half_figure(chart);
  }
  return out;
}

}  // namespace evenkeel::study
