// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

/// Words for outcomes and states in reports, JSON and CSS classes.
namespace evenkeel::study {

/// "supported", "contradicted", "inconclusive", "not measured", "not tested": as reports and JSON
/// write it.
std::string to_string(Verdict::Outcome outcome);

/// "agrees", "disagrees", "inconclusive", "unknown".
std::string to_string(Direction direction);

/// "finished", "failed", "crashed", "missing".
std::string to_string(SeedRun::State state);

/// The CSS class: the word, or "unmeasured" for missing results.
std::string css_class(Verdict::Outcome outcome);
std::string css_class(SeedRun::State state);

/// True for a claim of a paper: Claim::paper has a number, or Claim::source begins with a place in
/// a paper, "Table 7", "figure 2 (no numbers)", "arXiv 2410.16682".
bool is_published(const Claim& claim);

/// "5 outcomes: 2 are supported, 1 is contradicted, 1 is inconclusive, 1 is not measured."
std::string outcome_summary(const Results& results);

}  // namespace evenkeel::study
