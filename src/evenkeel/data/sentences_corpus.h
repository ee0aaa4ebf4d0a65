// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "evenkeel/data/corpus.h"

/// builtin:sentences, a random text with known entropy (docs/corpus.md).
namespace evenkeel::data {

/// The maximum length of a document, in bytes.
inline constexpr std::int64_t kLongestSentencesDocument = 250;

/// The corpora of 32,000 training documents and 1,400 other validation documents, the same in every
/// run.
BuiltinCorpora sentences_corpora();

/// -ln p of a document of builtin:sentences in nats, end-of-text included; nullopt if the grammar
/// does not generate it.
std::optional<double> sentences_document_nats(std::string_view document);

}  // namespace evenkeel::data
