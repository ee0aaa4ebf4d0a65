// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/report/page_parts.h"
#include "evenkeel/study/analysis/results.h"

/// Distribution of arms over charts with a readable number of curves.
namespace evenkeel::study {

/// One curve of a chart: its arms and its style.
struct CurveSpec {
  std::string name;
  std::vector<std::size_t> arms;
  report::LineStyle style;
};

/// One chart.
struct Panel {
  std::string where;  // common labels of its arms: "layers 16"; "" for a single chart
  std::string note;   // names of arms that are left out; may be empty
  std::vector<CurveSpec> curve_specs;
};

inline constexpr std::size_t kMaxCurves = 8;

/// Up to kMaxCurves curves share a chart. More curves are split into one chart per combination of
/// the axes after the first, if there are at most `most` combinations. A chart that still has too
/// many shows the baseline, the arms of the claims, and the lowest and highest of the rest.
/// \param along  x axis of the curves; "": one curve per arm
/// \param most   largest number of charts
std::vector<Panel> panels(const Results& results, const std::string& along, std::size_t most);

/// An arm, and its name in a chart.
struct NamedArm {
  std::string name;
  const Arm* arm = nullptr;
};

inline constexpr std::size_t kMaxNamedArms = 8;

/// "post_norm (2 of 3); pre_norm (1 of 3)": the arms that have runs of this sort, and how many. At
/// most kMaxNamedArms, and then "; and 4 more"; "" without any.
std::string run_counts_text(const std::vector<NamedArm>& arms,
                            const std::function<bool(const SeedRun&)>& is_counted);

/// " Failed, not drawn: post_norm (2 of 3). Crashed, not drawn: pre_norm (1 of 3)."; missing runs
/// likewise; "" if all runs finished. Each list as run_counts_text().
/// \param is_drawn  whether the chart draws a run that has not finished; empty: it draws none
std::string unfinished_runs_note(const std::vector<NamedArm>& arms,
                                 const std::function<bool(const SeedRun&)>& is_drawn = {});
/// The note on the arms of a panel.
std::string unfinished_runs_note(const Results& results, const Panel& panel,
                                 const std::function<bool(const SeedRun&)>& is_drawn = {});

}  // namespace evenkeel::study
