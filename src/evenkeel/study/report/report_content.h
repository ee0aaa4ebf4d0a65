// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/report/report_table.h"

/// Tables and sentences of the HTML and Markdown reports of a study, without markup.
namespace evenkeel::study {

/// All arms in the order of ranking().
ReportTable arms_table(const Results& results);

/// One verdict in the list below its claim.
struct OutcomeLine {
  Verdict::Outcome outcome = Verdict::Outcome::not_measured;
  std::string where;     // "layers 16"; may be empty
  std::string sentence;  // without the outcome
};

/// The verdicts of a claim; one line with a remark if there are none.
/// \param claim  index into Study::claims
std::vector<OutcomeLine> outcome_lines(const Results& results, std::size_t claim);

/// The sentence before the list of confounders, or in its place if there are none.
std::string confounders_text(const Results& results);

/// The runs that the means of arms_table() are of: "finished runs".
std::string averaged_runs_text(const Results& results);

/// Sentences with the failed and the missing runs: those without a value, and those that failed
/// after the step that the study measures at; "" if all finished.
std::string failures_text(const Results& results);

/// Published and measured differences with their outcomes; no rows without published claims.
ReportTable paper_table(const Results& results);

/// Size, tokens, init and tuned value of each arm.
ReportTable fairness_table(const Results& results);

/// "12 tries, whose steps add up to those of 4.5 whole runs."; "" without a search.
std::string search_text(const Results& results);

/// All values of the search, with the loss at each fraction of the steps.
ReportTable search_table(const Results& results);

/// Every run of the grid, with its folder in the run cache.
ReportTable runs_table(const Results& results);

/// "Training took 1:02:03, 25 % of it in searches." No other part of a report has times.
std::string times_text(const Results& results);

/// A sentence on crashed and missing runs; "" if the study is complete.
std::string unfinished_text(const Results& results);

/// A sentence on changes of the study file since the first run; "" without changes.
std::string definition_changes_text(const Results& results);

/// A sentence on runs whose records are damaged or incomplete; "" if there is none.
std::string record_losses_text(const Results& results);

/// "placement, size smoke, seeds 1, 2, 3; after arXiv 2503.04598"
std::string about_text(const Study& study);

}  // namespace evenkeel::study
