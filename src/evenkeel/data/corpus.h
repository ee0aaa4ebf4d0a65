// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/config.h"

/// Text as tokens. Nothing here knows torch.
namespace evenkeel::data {

inline constexpr std::uint16_t kEndOfText = 256;  // after the 256 bytes
inline constexpr std::int64_t kByteVocabulary = 257;

/// A part of the text that is on its own: it may be disclosed without what stands before it.
struct Document {
  std::int64_t begin = 0, end = 0;  // tokens of its text, without the end-of-text that follows
  /// -ln p of what is scored of it, end-of-text included: of all, or of its answer, which has none.
  /// Only if `has_known_entropy`.
  double nats = 0;
};

/// Documents one after another, each followed by kEndOfText; one kEndOfText stands before all.
struct Corpus {
  std::vector<std::uint16_t> tokens;
  std::vector<Document> documents;
  bool has_known_entropy = false;  // Document::nats is set (builtin)
  std::string description;         // "builtin:sentences, 21,003 documents, 3.1 MB"
  std::string digest;              // XXH3-128 of the tokens, hexadecimal
  /// A token behind which stands, up to the end-of-text, what the text before it determines. Where
  /// there is one, only these answers are scored.
  std::optional<std::uint16_t> answer_start_token;

  /// One more document of so many bytes, with its end-of-text.
  void append(std::string_view document, double nats = 0);
};

struct Corpora {
  Corpus train, validation;
  std::optional<Corpus> ood;  // of another distribution, where data.ood names one
};

/// Reads or generates what `data` names; with validation = "auto", splits it.
/// \throws Error (data): a missing, empty, unreadable or non-UTF-8 file (with the offset), not
///         enough text for one window of `context` tokens, or a question longer than that
Corpora load_corpora(const config::Data& data, std::int64_t context);

/// The same without the training text, where the validation text has a source of its own.
Corpora load_evaluation_corpora(const config::Data& data, std::int64_t context);

}  // namespace evenkeel::data
