// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/report/report_table.h"

/// Columns of the table of arms where each row is a sweep: all arms along an axis (TOML: compare).
namespace evenkeel::study {

/// A sweep, without the loss at its best value.
struct SweepSummary {
  std::string best;         // the value with the lowest mean loss over the seeds; may be ""
  bool is_at_edge = false;  // `best` is the first or the last value
  std::vector<double> sensitivities{};  // of each seed without a missing run
};

/// \param swept  one of Results::swept_comparison
SweepSummary sweep_summary(const Results& results, const Arm& swept);

/// The headings of sweep_cells().
std::vector<Column> sweep_columns(const Measure& measure);

/// sweep_summary() as two cells.
std::vector<Cell> sweep_cells(const Results& results, const Arm& swept);

/// An arm with all runs of a sweep, for finished_runs_text().
Arm all_runs_of(const Results& results, const Arm& swept);

/// What the columns are.
std::string sweep_footnote(const Study& study);

}  // namespace evenkeel::study
