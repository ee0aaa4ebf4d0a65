// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "evenkeel/data/corpus.h"

/// builtin:sentences, random text of known probability (docs/corpus.md).
namespace evenkeel::data {

/// No document is longer, in bytes.
inline constexpr std::int64_t kLongestSentencesDocument = 250;

/// The same text in every run: 32,000 documents to train on, and 1,400 others to validate with.
Corpora sentences_corpora();

/// -ln p of one document of builtin:sentences, end-of-text included; nothing if the grammar
/// cannot write it.
std::optional<double> sentences_document_nats(std::string_view document);

}  // namespace evenkeel::data
