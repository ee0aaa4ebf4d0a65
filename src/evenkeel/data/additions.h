// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/data/corpus.h"

/// builtin:addition and builtin:addition_longer, sums of random numbers: a document is
/// "47+8+91=146", with an end-of-text after it (docs/corpus.md).
namespace evenkeel::data {

/// Between `=` and the end-of-text stands what the text before it determines.
inline constexpr std::uint16_t kAnswerMark = '=';

/// How many numbers a sum has, each of 1 .. 99.
struct Terms {
  int least = 2, most = 2;
};
inline constexpr Terms kAddition{2, 2};
inline constexpr Terms kLongerAddition{3, 3};

/// The same text in every run: 60,000 sums to train on, and 2,000 to validate with. One sum in
/// eight, by the digest of its text, is never trained on, and only those validate.
Corpora additions(Terms terms);

}  // namespace evenkeel::data
