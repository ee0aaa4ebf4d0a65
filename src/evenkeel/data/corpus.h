// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/config.h"

/// Text as tokens: bytes and end-of-text. Independent of torch.
namespace evenkeel::data {

inline constexpr std::uint16_t kEndOfText = 256;  // the token after the 256 byte tokens
inline constexpr std::int64_t kByteVocabulary = 257;

/// A document of a corpus: a text that is independent of the text before it.
struct Document {
  std::int64_t begin = 0, end = 0;  // token range of its text, without kEndOfText
  /// -ln p of the scored tokens, kEndOfText included: of the whole document, or of its answer only
  /// (then 0). Valid only if `has_known_entropy`.
  double nats = 0;
};

/// The tokens of all documents. kEndOfText is the first token and follows each document.
struct Corpus {
  std::vector<std::uint16_t> tokens;
  std::vector<Document> documents;
  bool has_known_entropy = false;  // Document::nats is set (builtin texts)
  std::string description;         // "builtin:sentences, 21,003 documents, 3.1 MB"
  std::string digest;              // XXH3-128 of the tokens, 32 hexadecimal digits
  /// The token before an answer, which ends at kEndOfText. With it, only answers are scored: the
  /// text before an answer determines it. nullopt: all tokens are scored.
  std::optional<std::uint16_t> answer_start_token;

  /// Appends a document of one token per byte, and kEndOfText.
  void append(std::string_view document, double nats = 0);
};

/// The texts of a run.
struct Corpora {
  Corpus train, validation;
  std::optional<Corpus> ood;  // out-of-distribution text; nullopt without data.ood
};

/// Reads or generates the texts of `data`. With validation = "auto", splits the training text.
/// \param context  tokens of a window
/// \throws Error (data, exit code 65) for a missing, empty, unreadable or non-UTF-8 file (with the
///         offset); for less text than one window; for a question with answer longer than a window
Corpora load_corpora(const config::Data& data, std::int64_t context);

/// The result of load_corpora(), without the training text if the validation text has another
/// source.
Corpora load_evaluation_corpora(const config::Data& data, std::int64_t context);

}  // namespace evenkeel::data
