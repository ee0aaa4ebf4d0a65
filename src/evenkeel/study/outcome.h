// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/results.h"

/// Outcomes as words, which are also the classes that colour them on the page.
namespace evenkeel::study {

/// "holds", "contradicted", "undecided", "not measured", "not judged".
std::string word_of(Verdict::Outcome outcome);

/// "agrees", "disagrees", "undecided", "unknown".
std::string word_of(Direction direction);

/// "finished", "failed", "crashed", "missing".
std::string word_of(Member::State state);

/// The class of the style sheet: the word, or "unmeasured" for what is not there.
std::string class_of(Verdict::Outcome outcome);
std::string class_of(Member::State state);

/// Whether a paper says it: there is its figure, or `source` begins with a place in one, "Table 7",
/// "figure 2 (no numbers)", "arXiv 2410.16682".
bool is_published(const Claim& claim);

/// "Of 5 outcomes 2 hold, 1 is contradicted, 1 is undecided, 1 is not measured."
std::string summary_of(const Results& results);

}  // namespace evenkeel::study
