// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/data/corpus.h"

/// builtin:addition and builtin:addition_longer, random sums of integers. A document is
/// "7+20+13=40", followed by kEndOfText (docs/corpus.md).
namespace evenkeel::data {

/// The answer of a document is the text between this token and kEndOfText. The question determines
/// it.
inline constexpr std::uint16_t kAnswerStart = '=';

/// The possible numbers of terms of a sum, all equally likely; each term is uniform in 1 to 20.
/// Training sums have several numbers of terms, so that both "+" and "=" occur after several terms.
/// A longer sum then tests addition, not a "+" at a position without one in training.
using TermCounts = std::vector<int>;
inline const TermCounts kAdditionTerms = {2, 3, 4}, kLongerAdditionTerms = {5};

/// The corpora for 60,000 training sums and 2,000 validation sums, the same in every run. A digest
/// of the sorted terms selects one sum in eight. Selected sums are the validation sums, and
/// training never uses them in any order of their terms.
BuiltinCorpora addition_corpora(const TermCounts& terms);

/// The validation corpus of addition_corpora() alone.
Corpus addition_validation_corpus(const TermCounts& terms);

}  // namespace evenkeel::data
