// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evenkeel/report/axis.h"
#include "evenkeel/report/series.h"

namespace evenkeel::report {

/// Numbers of colours and dash patterns. They have no common factor, so 42 runs look different.
constexpr int kColours = 7;
constexpr int kDashes = 6;

/// The style of a line. `dotted`: bold, with a dot at each point if there are few points. `points`:
/// dots without a line.
enum class Stroke { faint, bold, dotted, points };

/// Error band or error bars of a line: one entry per point; NaN if unknown.
struct ErrorBounds {
  enum class As { band, bars };
  std::vector<double> low{}, high{};
  As as = As::band;
};

/// A curve of a chart.
struct Line {
  std::string name{};  // in the legend
  Series points{};
  int colour = 0;  // 0 .. kColours - 1
  int dash = 0;    // 0 .. kDashes - 1; 0 is solid
  Stroke stroke = Stroke::bold;
  ErrorBounds bounds{};  // empty, or one entry per point
  double shift = 0;      // to the right, in CSS pixels, so that bars do not overlap
  std::size_t run = 0;   // on a page of several runs: the run, as in clocks_data()
};

/// A labelled horizontal line: the entropy of a text, or a limit.
struct Reference {
  double at = 0;
  std::string label;
};

/// A vertical line with a tooltip: an event of a run, such as a loss spike.
struct Flag {
  double at = 0;
  std::string title;
};

/// A cross at the upper edge: a point without a finite value, such as a run that diverged.
struct Cross {
  double at = 0;
  int colour = 0;
  std::string title;
};

/// The y axis: `linear` fits the values, `from_zero` begins at 0.
enum class Scale { linear, from_zero, logarithmic };

/// A figure: curves over training steps, over layers, or over the quantity that `x_label` names.
struct Chart {
  std::string title{}, unit{};
  std::string note{};  // one sentence below the title; may be empty
  std::vector<Line> lines{};
  std::optional<Reference> reference{};
  Scale scale = Scale::linear;
  std::string x_label = "step";
  bool has_legend = true;    // false: the legend of the figure above is also for this one
  bool wide = false;         // full page width; false: half
  std::string when_empty{};  // text in place of the plot if no curve has a point
  bool logarithmic_x = false;
  std::vector<Tick> x_ticks{};  // empty: chosen by the range
  std::vector<Cross> crosses{};
  std::vector<Flag> flags{};
};

/// The class of a `<figure>` without Chart::has_legend.
inline constexpr const char* kSharesLegend = "shares-legend";

/// The chart as `<figure>` with an inline `<svg>`, coloured by the page's style sheet. Curves are
/// downsampled to the resolution of the plot, so the size does not grow with the run.
std::string figure(const Chart& chart);

/// A short line in this colour and dash pattern as `<svg>`, for legends and tables.
std::string swatch(int colour, int dash);

}  // namespace evenkeel::report
