// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/forest_plot.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/report/axis.h"
#include "evenkeel/report/row_figure.h"
#include "evenkeel/report/series.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {

namespace {

using Field = report::RowFrame;

constexpr double kNumbersWidth = 196;  // units for the figures at the right
constexpr int kTicks = 6;
constexpr const char* kLowerColour = "c0";
constexpr const char* kHigherColour = "c1";
constexpr const char* kInconclusiveColour = "c6";

struct Row {
  const Arm* arm;
  const Verdict* verdict;
  double mean = 0;  // of the difference, as it is shown
  Interval interval{};
  bool has_difference() const { return verdict->difference.has_value(); }
};

Row row_of(const Arm& arm, const Verdict& verdict, const Measure& measure) {
  Row row{&arm, &verdict};
  if (!row.has_difference()) return row;
  const auto& difference = *verdict.difference;
  row.mean = display_difference(difference.mean, measure);
  row.interval = {.low = display_difference(difference.interval.low, measure),
                  .high = display_difference(difference.interval.high, measure)};
  return row;
}

std::vector<Row> rows_of(const Results& results) {
  std::vector<Row> rows;
  for (const auto at : ranking(results)) {
    const auto& arm = compared_arms(results)[at];
    const auto* const verdict = baseline_verdict(results, arm);
    if (verdict != nullptr) rows.push_back(row_of(arm, *verdict, compared_measure(results.study)));
  }
  return rows;
}

/// A range around zero that holds the means and most of the intervals. Means beyond ten times the
/// middle one, and intervals beyond three times the means, leave it: they must not flatten the
/// rest.
report::Axis forest_plot_axis_of(const std::vector<Row>& rows) {
  constexpr double kOutlier = 10, kMargin = 0.03;
  std::vector<double> sizes;
  for (const auto& row : rows) {
    if (row.has_difference()) sizes.push_back(std::abs(row.mean));
  }
  const double middle = report::median(sizes);
  const double most = middle > 0 ? kOutlier * middle : INFINITY;
  double low = 0, high = 0;
  for (const auto& row : rows) {
    if (!row.has_difference()) continue;
    const double mean = std::clamp(row.mean, -most, most);
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  const double reach = high - low, least = low - reach, largest = high + reach;
  for (const auto& row : rows) {
    if (!row.has_difference() || reach == 0) continue;
    low = std::min(low, std::clamp(row.interval.low, least, largest));
    high = std::max(high, std::clamp(row.interval.high, least, largest));
  }
  const double margin = kMargin * (high - low);
  return report::linear_axis(low - margin, high + margin, kTicks);
}

const char* colour_of(const Verdict& verdict) {
  const auto outcome = verdict.outcome;
  const bool is_decided =
      outcome == Verdict::Outcome::supported || outcome == Verdict::Outcome::contradicted;
  if (!is_decided) return kInconclusiveColour;
  if (verdict.is_failure_test)
    return outcome == Verdict::Outcome::supported ? kLowerColour : kHigherColour;
  return verdict.difference->mean < 0 ? kLowerColour : kHigherColour;
}

std::string drawn(const Results& results, const Row& row, const Field& field, double y) {
  auto out = report::row_name(row.arm->name, field, y);
  if (!row.has_difference()) {
    return out + report::row_label("end", report::kRowWidth, y,
                                   "finished " + finished_runs_text(*row.arm));
  }
  out += report::interval_mark(colour_of(*row.verdict), row.interval.low, row.mean,
                               row.interval.high, field, y, sentence(results, *row.verdict));
  return out + report::row_label(
                   "end", report::kRowWidth, y,
                   difference_text(*row.verdict->difference, compared_measure(results.study)));
}

std::string forest_plot_note_of(const std::vector<Row>& rows) {
  std::set<std::string> baselines;
  for (const auto& row : rows) baselines.insert(row.verdict->reference);
  const auto to = baselines.size() == 1 ? *baselines.begin() : "its baseline";
  return text(
      "Difference to ", to,
      " with 95 % interval, paired by seed; below zero is lower. Blue: lower, orange: "
      "higher, grey: not significant after correction, or not tested. An arrow: the interval "
      "continues. Fewer than two finished pairs have no mark.");
}

}  // namespace

std::string forest_plot(const Results& results) {
  const auto rows = rows_of(results);
  if (rows.empty()) return "";
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const auto& row : rows) names.push_back(row.arm->name);
  const auto field = report::row_frame(names, kNumbersWidth, forest_plot_axis_of(rows));
  const auto draw = [&](std::size_t row, double y) { return drawn(results, rows[row], field, y); };
  return report::row_figures({.title = "Difference to the baseline",
                              .unit = difference_measure_text(compared_measure(results.study)),
                              .note = forest_plot_note_of(rows),
                              .rows = rows.size(),
                              .draw = draw},
                             field);
}

}  // namespace evenkeel::study
