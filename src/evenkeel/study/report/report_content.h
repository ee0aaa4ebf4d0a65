// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/report/report_table.h"

/// What the page and the Markdown of a study say in tables and sentences, without any markup.
namespace evenkeel::study {

/// All arms from the lowest difference to the baseline to the highest; without a baseline from the
/// lowest mean. Arms without a finished run come last.
ReportTable arms_table(const Results& results);

/// A verdict as a report lists it below its claim.
struct OutcomeLine {
  Verdict::Outcome outcome = Verdict::Outcome::not_measured;
  std::string where;     // "layers 16"; may be empty
  std::string sentence;  // without the outcome
};

/// The verdicts of a claim; without any, one line that says so.
/// \param claim  index into the study's claims
std::vector<OutcomeLine> outcome_lines(const Results& results, std::size_t claim);

/// What stands before the list of confounders, or in its place.
std::string confounders_text(const Results& results);

/// Which runs failed, or are not there; "" if all finished.
std::string failures_text(const Results& results);

/// Outcomes of what is published beside the published figures; no rows without such.
ReportTable paper_table(const Results& results);

/// Size, tokens, init and tuned value of each arm.
ReportTable fairness_table(const Results& results);

/// "12 tries, whose steps add up to those of 4.5 whole runs."; "" without a search.
std::string search_text(const Results& results);

/// Every value that was tried, with the loss at each share of the steps.
ReportTable search_table(const Results& results);

/// Every run of the grid, with its folder in the run cache.
ReportTable runs_table(const Results& results);

/// "Training took 1:02:03, 25 % of it in searches." The only place for times.
std::string times_text(const Results& results);

/// That runs are missing; "" if the study is whole.
std::string unfinished_text(const Results& results);

/// That the study was changed after it was begun; "" if it was not.
std::string definition_changes_text(const Results& results);

/// "placement, size smoke, seeds 1, 2, 3; after arXiv 2503.04598"
std::string about_text(const Study& study);

}  // namespace evenkeel::study
