// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/axis_figures.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/study/ranking.h"
#include "evenkeel/study/panels.h"
#include "evenkeel/study/verdict_text.h"
#include "evenkeel/study/number_format.h"

namespace evenkeel::study {

namespace {

constexpr std::size_t kMostPanels = 8;

/// An axis whose labels are numbers, from the lowest.
struct Scale {
  std::string name;
  std::vector<report::Tick> ticks;

  bool is_logarithmic() const {
    constexpr double kWide = 8;
    const double low = ticks.front().at, high = ticks.back().at;
    return low > 0 && (name == "schedule.peak" || high >= kWide * low);
  }
};

std::vector<Scale> scales_of(const Study& study) {
  std::vector<Scale> out;
  for (const auto& axis : study.axes) {
    Scale scale{axis.name, {}};
    for (const auto& value : axis.values) {
      const auto number = number_of(value.label);
      if (number) scale.ticks.push_back({*number, value.label});
    }
    if (scale.ticks.size() < 2 || scale.ticks.size() < axis.values.size()) continue;
    std::sort(scale.ticks.begin(), scale.ticks.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    out.push_back(std::move(scale));
  }
  return out;
}

/// The measure of the bundle's arms along the axis, with intervals.
report::Line line_of(const Results& results, const Scale& scale, const Bundle& bundle) {
  report::Line line{
      bundle.name, {}, bundle.style.colour, bundle.style.dash, report::Stroke::dotted};
  line.spread.as = report::Spread::As::bars;
  for (const auto& tick : scale.ticks) {
    for (const auto at : bundle.arms) {
      const auto& arm = results.arms[at];
      if (arm.labels.at(scale.name) != tick.label) continue;
      const auto values = finished_values(arm);
      const auto interval =
          values.size() < 2 ? Interval{std::nan(""), std::nan("")} : mean_estimate(values).interval;
      const auto& measure = results.study.measure;
      line.points.add(tick.at, display_value(mean_value(arm), measure));
      line.spread.low.push_back(display_value(interval.low, measure));
      line.spread.high.push_back(display_value(interval.high, measure));
    }
  }
  return line;
}

/// Crosses where runs of the bundle failed. \return "post_norm failed at 0.004 (2 of 3), 0.008 (3
/// of 3)"; "" if none did
std::string add_failures(const Results& results, const Scale& scale, const Bundle& bundle,
                         report::Chart& chart) {
  std::string places;
  for (const auto at : bundle.arms) {
    const auto& arm = results.arms[at];
    const auto failed = run_count(arm, SeedRun::State::failed);
    if (failed == 0) continue;
    const auto& label = arm.labels.at(scale.name);
    const auto share = text(failed, " of ", arm.seed_runs.size());
    chart.crosses.push_back(
        {*number_of(label), bundle.style.colour, text(arm.name, ": failed ", share)});
    places += text(places.empty() ? "" : ", ", label, " (", share, ")");
  }
  if (places.empty()) return "";
  return text(bundle.name, bundle.name.empty() ? "" : " ", "failed at ", places);
}

std::string note_of(const Results& results, const Panel& panel, const std::string& failures) {
  const bool has_interval = results.study.seeds.size() > 1;
  return text(panel.note, panel.note.empty() ? "" : " ",
              has_interval ? "Means with 95 % intervals." : "One run each: no intervals.",
              failures.empty() ? "" : " Crosses: " + failures + ".");
}

std::string figure_of(const Results& results, const Scale& scale, const Panel& panel) {
  constexpr double kApart = 3;
  const auto& measure = results.study.measure;
  auto title = measure.name();
  title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  report::Chart chart{
      text(title, " against ", scale.name, panel.where.empty() ? "" : ", " + panel.where),
      measure.unit()};
  chart.across = scale.name;
  chart.logarithmic_across = scale.is_logarithmic();
  chart.ticks_across = scale.ticks;
  const auto middle = (static_cast<double>(panel.bundles.size()) - 1) / 2;
  std::string failures;
  for (std::size_t i = 0; i < panel.bundles.size(); ++i) {
    auto line = line_of(results, scale, panel.bundles[i]);
    const auto failed = add_failures(results, scale, panel.bundles[i], chart);
    if (!failed.empty()) failures += (failures.empty() ? "" : "; ") + failed;
    if (report::finite(line.points.y).empty() && failed.empty()) continue;
    line.shift = kApart * (static_cast<double>(i) - middle);
    chart.lines.push_back(std::move(line));
  }
  chart.note = note_of(results, panel, failures);
  chart.when_empty = "No run is finished.";
  return figure(chart);
}

}  // namespace

std::string axis_figures(const Results& results) {
  std::string out;
  for (const auto& scale : scales_of(results.study)) {
    for (const auto& panel : panels(results, scale.name, kMostPanels)) {
      out += figure_of(results, scale, panel);
    }
  }
  return out;
}

}  // namespace evenkeel::study
