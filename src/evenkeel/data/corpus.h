// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/data/tokens.h"

/// Texts as token ids. Independent of torch.
namespace evenkeel::data {

inline constexpr TokenId kEndOfText = 256;  // of the tokenizer "bytes": after the 256 byte tokens
inline constexpr std::int64_t kByteVocabulary = 257;

/// A document of a corpus: a text that is independent of the text before it.
struct Document {
  std::int64_t begin = 0, end = 0;  // token range of its text, without end-of-text
  /// -ln p of the scored tokens, end-of-text included: of the whole document, or of its answer only
  /// (then 0). Valid only if `has_known_entropy`.
  double nats = 0;
};

/// By token id: the bytes of its text; end-of-text and other special tokens count as one byte.
using TokenLengths = std::shared_ptr<const std::vector<std::uint32_t>>;
/// The lengths of the tokenizer "bytes".
TokenLengths byte_token_lengths();

/// The bytes of documents, and of their end-of-text tokens.
struct TextBytes {
  /// Of the text as it was read (UTF-8); 1 for each end-of-text or other special token.
  std::int64_t read = 0;
  /// Of the tokens, by their TokenLengths. It differs from `read` where the tokenizer changes the
  /// text: by a normalizer, a prefix, or characters without a token.
  std::int64_t counted = 0;

  bool operator==(const TextBytes&) const = default;
  TextBytes& operator+=(const TextBytes& more);
  /// The bytes as read of a part of the text: exact for all of it, in proportion for less.
  /// \param part  sum of the TokenLengths of its tokens
  std::int64_t read_of(std::int64_t part) const;
};
/// Adds the bytes of another text. The sum is unknown (nullopt) if one of both is.
void add_known(std::optional<TextBytes>& sum, const std::optional<TextBytes>& more);

/// The tokens of all documents. End-of-text follows each document; in a text that the program
/// tokenizes, it is also the first token (data.begin).
struct Corpus {
  Tokens tokens;
  std::vector<Document> documents;  // of texts in memory; empty for token files
  std::int64_t document_count = 0;  // 0: unknown
  bool has_known_entropy = false;   // Document::nats is set (builtin texts)
  std::string origin;               // of token files: "shards (2 token files, npy, uint16)"
  std::string description;          // "builtin:sentences, 21,003 documents, 3.1 MB"
  std::string digest;               // Tokens::digest()
  std::vector<Tokens::File> files;  // that were read, with their digests; empty for a builtin
  /// The token before an answer, which ends at end-of-text. With it, only answers are scored: the
  /// text before an answer determines it. nullopt: all tokens are scored.
  std::optional<TokenId> answer_start_token;
  std::optional<TokenId> end_of_text = kEndOfText;    // nullopt: unknown (token files)
  TokenLengths token_lengths = byte_token_lengths();  // nullptr: unknown (token files)
  /// Of a text that the program tokenizes, of shards whose manifest has them, or of the text that
  /// this is a part of; nullopt: the bytes are those of the tokens.
  std::optional<TextBytes> text_bytes;

  /// The bytes of the text of some tokens. \param lengths  sum of their token_lengths
  std::int64_t bytes_of_text(std::int64_t lengths) const;
  /// Appends a document of one token per byte, and kEndOfText.
  void append(std::string_view document, double nats = 0);
};

/// The texts of a builtin.
struct BuiltinCorpora {
  Corpus train, validation;
};

}  // namespace evenkeel::data
