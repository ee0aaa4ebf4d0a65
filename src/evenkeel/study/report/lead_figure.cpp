// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/lead_figure.h"

#include <set>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/study/analysis/comparison.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/loss_figures.h"
#include "evenkeel/study/report/panels.h"

namespace evenkeel::study {

namespace {

constexpr double kPercent = 100;

report::Line lead_line(const Results& results, const Arm& arm, const Arm& reference,
                       const CurveSpec& spec) {
  report::Line line{arm.name, {}, spec.style.colour, spec.style.dash, report::Stroke::dotted};
  line.bounds.as = report::ErrorBounds::As::bars;
  for (const double share : results.study.loss_shares) {
    const auto differences = paired_differences(arm, reference, loss_after(share));
    if (differences.empty()) continue;
    const auto estimate = mean_estimate(differences);
    line.points.add(kPercent * share, estimate.mean);
    line.bounds.low.push_back(estimate.interval.low);
    line.bounds.high.push_back(estimate.interval.high);
  }
  return line;
}

std::string lead_figure_of(const Results& results, const Panel& panel) {
  constexpr double kApart = 3;
  report::Chart chart{text("Difference to the baseline over training",
                           panel.where.empty() ? "" : ", " + panel.where),
                      loss_after(1).unit()};
  chart.x_label = "% of the steps";
  std::set<std::string> baselines;
  for (const auto& spec : panel.curve_specs) {
    for (const auto at : spec.arms) {
      const auto& arm = results.arms.at(at);
      const auto* const verdict = baseline_verdict(results, arm);
      const auto* const reference =
          verdict == nullptr ? nullptr : find_arm(results, verdict->reference);
      if (reference == nullptr) continue;
      baselines.insert(reference->name);
      auto line = lead_line(results, arm, *reference, spec);
      if (line.points.size() == 0) continue;
      chart.lines.push_back(std::move(line));
    }
  }
  if (chart.lines.empty()) return "";
  chart.reference =
      report::Reference{0, baselines.size() == 1 ? *baselines.begin() : "its baseline"};
  const auto middle = (static_cast<double>(chart.lines.size()) - 1) / 2;
  for (std::size_t i = 0; i < chart.lines.size(); ++i)
    chart.lines[i].shift = kApart * (static_cast<double>(i) - middle);
  chart.note = text(panel.note, panel.note.empty() ? "" : " ",
                    results.study.seeds.size() > 1 ? "Means with 95 % intervals, paired by seed."
                                                   : "One run each: no intervals.",
                    unfinished_runs_note(results, panel));
  return figure(chart);
}

}  // namespace

std::string lead_figure(const Results& results) {
  if (results.study.loss_shares.empty() || results.study.baseline.empty()) return "";
  std::string out;
  for (const auto& panel : panels(results, "", kMaxLossPanels))
    out += lead_figure_of(results, panel);
  return out;
}

}  // namespace evenkeel::study
