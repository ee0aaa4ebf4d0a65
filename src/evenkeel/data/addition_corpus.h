// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evenkeel/data/corpus.h"

/// builtin:addition and builtin:addition_longer, sums of random numbers: a document is
/// "7+20+13=40", with an end-of-text after it (docs/corpus.md).
namespace evenkeel::data {

/// Between `=` and the end-of-text stands what the text before it determines.
inline constexpr std::uint16_t kAnswerStart = '=';

/// How many numbers, each of 1 .. 20, a sum may have: one count as likely as another. Several
/// counts, so that both signs are seen behind several numbers: a longer sum is then a matter of
/// adding, not of a second "+" where none ever stood.
using TermCounts = std::vector<int>;
inline const TermCounts kAdditionTerms = {2, 3, 4}, kLongerAdditionTerms = {5};

/// The same text in every run: 60,000 sums to train on, and 2,000 to validate with. One sum in
/// eight, by a digest of its numbers in whatever order, is never trained on, and only those
/// validate.
Corpora addition_corpora(const TermCounts& terms);

/// Only those that validate.
Corpus addition_validation_corpus(const TermCounts& terms);

}  // namespace evenkeel::data
