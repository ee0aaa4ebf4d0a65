// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/forest.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/report/axis.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/series.h"
#include "evenkeel/study/league.h"
#include "evenkeel/study/wording.h"

namespace evenkeel::study {

namespace {

using report::escaped;
using report::unit;

// Units of the view box, as those of a chart of full width.
constexpr double kWidth = 820, kTop = 8, kBottom = 30, kRow = 20;
constexpr double kLetter = 6.6, kGap = 10, kWidestName = 330, kNumbers = 196;
constexpr std::size_t kRowsAFigure = 45;  // of a printed page
constexpr int kTicks = 6;
constexpr const char* kLower = "c0";
constexpr const char* kHigher = "c1";
constexpr const char* kOpen = "c6";

struct Row {
  const Arm* arm;
  const Verdict* verdict;
  bool has_difference() const { return verdict->difference.has_value(); }
};

std::vector<Row> rows_of(const Results& results) {
  std::vector<Row> rows;
  for (const auto at : ranking(results)) {
    const auto& arm = results.arms[at];
    const auto* const verdict = against_baseline(results, arm);
    if (verdict != nullptr) rows.push_back({&arm, verdict});
  }
  return rows;
}

/// Where differences lie on the view box.
struct Field {
  double left = 0, right = 0;
  report::Axis axis;

  double across(double value) const { return left + axis.place(value) * (right - left); }
  bool holds(double value) const { return value >= axis.low && value <= axis.high; }
};

/// A range around zero that holds the means and most of the intervals. Means beyond ten times the
/// middle one, and intervals beyond three times the means, leave it: they must not flatten the
/// rest.
report::Axis axis_of(const std::vector<Row>& rows) {
  constexpr double kOutlier = 10, kMargin = 0.03;
  std::vector<double> sizes;
  for (const auto& row : rows) {
    if (row.has_difference()) sizes.push_back(std::abs(row.verdict->difference->mean));
  }
  const double middle = report::median(sizes);
  const double most = middle > 0 ? kOutlier * middle : INFINITY;
  double low = 0, high = 0;
  for (const auto& row : rows) {
    if (!row.has_difference()) continue;
    const double mean = std::clamp(row.verdict->difference->mean, -most, most);
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  const double reach = high - low, least = low - reach, largest = high + reach;
  for (const auto& row : rows) {
    if (!row.has_difference() || reach == 0) continue;
    const auto& interval = row.verdict->difference->interval;
    low = std::min(low, std::clamp(interval.low, least, largest));
    high = std::max(high, std::clamp(interval.high, least, largest));
  }
  const double margin = kMargin * (high - low);
  return report::linear_axis(low - margin, high + margin, kTicks);
}

Field field_of(const std::vector<Row>& rows) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.arm->name.size());
  const double names = std::min(kWidestName, kLetter * static_cast<double>(longest));
  return {names + kGap, kWidth - kNumbers - kGap, axis_of(rows)};
}

std::string label(const char* anchor, double x, double y, const std::string& words,
                  const std::string& whole = "") {
  const auto title = whole.empty() ? "" : report::element("title", escaped(whole));
  return text("<text class=\"", anchor, "\" x=\"", unit(x), "\" y=\"", unit(y + report::kBaseline),
              "\">", escaped(words), title, "</text>\n");
}

/// A name that is too long ends in "…" and is whole when pointed at.
std::string name_label(const std::string& name, const Field& field, double y) {
  const auto room = static_cast<std::size_t>((field.left - kGap) / kLetter) + 1;
  if (name.size() <= room) return label("name", 0, y, name);
  auto cut = room - 1;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80) --cut;  // within UTF-8
  return label("name", 0, y, name.substr(0, cut) + "…", name);
}

const char* colour_of(const Verdict& verdict) {
  const auto outcome = verdict.outcome;
  const bool is_decided =
      outcome == Verdict::Outcome::holds || outcome == Verdict::Outcome::contradicted;
  if (!is_decided) return kOpen;
  return verdict.difference->mean < 0 ? kLower : kHigher;
}

/// The interval; an end beyond the field becomes the head of an arrow at its edge.
std::string interval_path(const Interval& interval, const Field& field, double y) {
  constexpr double kHalfEnd = 4, kHead = 5;
  const auto inside = [&](double value) {
    return field.across(std::clamp(value, field.axis.low, field.axis.high));
  };
  auto path = text('M', unit(inside(interval.low)), ' ', unit(y), 'H', unit(inside(interval.high)));
  for (const double value : {interval.low, interval.high}) {
    if (!field.holds(value)) continue;
    path += text('M', unit(inside(value)), ' ', unit(y - kHalfEnd), 'v', unit(2 * kHalfEnd));
  }
  const auto head = [&](double x, double back) {
    return text('M', unit(x + back), ' ', unit(y - kHalfEnd), 'L', unit(x), ' ', unit(y), 'L',
                unit(x + back), ' ', unit(y + kHalfEnd));
  };
  if (interval.low < field.axis.low) path += head(field.left, kHead);
  if (interval.high > field.axis.high) path += head(field.right, -kHead);
  return path;
}

std::string drawn(const Row& row, const Measure& measure, const Field& field, double y) {
  auto out = name_label(row.arm->name, field, y);
  if (!row.has_difference()) {
    return out + label("end", kWidth, y, "finished " + runs_text(*row.arm));
  }
  const auto& difference = *row.verdict->difference;
  const auto* const colour = colour_of(*row.verdict);
  out += text("<path class=\"bar ", colour, "\" d=\"", interval_path(difference.interval, field, y),
              "\"/>\n");
  if (field.holds(difference.mean)) {
    out += text("<circle class=\"", colour, "\" cx=\"", unit(field.across(difference.mean)),
                "\" cy=\"", unit(y), "\" r=\"3.4\"><title>", escaped(row.verdict->sentence),
                "</title></circle>\n");
  }
  return out + label("end", kWidth, y, difference_text(difference, measure));
}

std::string drawing(const std::vector<Row>& rows, const Measure& measure, const Field& field,
                    const std::string& title) {
  constexpr double kSmallest = 11.0 / 12.0;  // of the font, as in charts
  constexpr double kTickDrop = 15;
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  std::string out;
  for (const auto& tick : field.axis.ticks) {
    const auto x = unit(field.across(tick.at));
    out += text("<path class=\"", tick.at == 0 ? "axis" : "grid", "\" d=\"M", x, ' ', unit(kTop),
                'V', unit(bottom), "\"/>\n",
                label("middle", field.across(tick.at), bottom + kTickDrop, tick.label));
  }
  for (std::size_t at = 0; at < rows.size(); ++at) {
    out += drawn(rows[at], measure, field, kTop + kRow * (static_cast<double>(at) + 0.5));
  }
  return text("<svg viewBox=\"0 0 ", kWidth, ' ', bottom + kBottom, "\" role=\"img\" aria-label=\"",
              escaped(title), "\" style=\"min-width:", std::lround(kWidth * kSmallest), "px\">\n",
              out, "</svg>\n");
}

std::string note_of(const std::vector<Row>& rows) {
  std::set<std::string> baselines;
  for (const auto& row : rows) baselines.insert(row.verdict->than);
  const auto to = baselines.size() == 1 ? *baselines.begin() : "its baseline";
  return text("Difference to ", to,
              " with 95 % interval, paired by seed; below zero is lower. Blue: lower, orange: "
              "higher, grey: not told apart, after correction. An arrow: it reaches further. Where "
              "fewer than two pairs finished there is none.");
}

}  // namespace

std::string forest(const Results& results) {
  const auto rows = rows_of(results);
  if (rows.empty()) return "";
  const auto field = field_of(rows);
  const auto& measure = results.study.measure;
  const auto figures = (rows.size() + kRowsAFigure - 1) / kRowsAFigure;
  std::string out;
  for (std::size_t at = 0; at < figures; ++at) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(at * kRowsAFigure);
    const auto left = static_cast<std::size_t>(rows.end() - begin);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(left, kRowsAFigure));
    const auto part = figures == 1 ? "" : text(", ", at + 1, " of ", figures);
    const auto title = "Difference to the baseline" + part;
    const auto caption = report::element("strong", title) + " " +
                         report::element("span", escaped(measure_text(measure)), "muted") +
                         (at == 0 ? report::element("p", escaped(note_of(rows))) : "");
    const auto picture = drawing({begin, end}, measure, field, title);
    out += report::element("figure",
                           report::element("figcaption", caption) + "\n" +
                               report::element("div", picture, "scroll"),
                           "wide") +
           "\n";
  }
  return out;
}

}  // namespace evenkeel::study
