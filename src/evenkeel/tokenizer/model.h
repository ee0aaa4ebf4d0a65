// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/tokenizer/added_tokens.h"
#include "evenkeel/tokenizer/bpe.h"
#include "evenkeel/tokenizer/neighbors.h"
#include "evenkeel/tokenizer/normalizer.h"
#include "evenkeel/tokenizer/pre_tokenizer.h"
#include "evenkeel/tokenizer/sentencepiece_normalizer.h"
#include "evenkeel/tokenizer/tokenizer.h"

namespace evenkeel::tokenizer {

class SentencePiece;

inline constexpr const char* kByteLevel = "byte-level BPE";
inline constexpr const char* kSentencePiece = "SentencePiece BPE";
inline constexpr const char* kTiktoken = "tiktoken BPE";

/// The text of the token that ends a document.
inline constexpr const char* kEndOfText = "<|endoftext|>";

/// The largest id + 1 that a file may have; bounds the memory of a damaged file.
inline constexpr Id kMaxVocabulary = Id{1} << 24;

/// The content of a Tokenizer. A text passes these members in their order.
struct Model {
  std::string kind, path, digest;
  std::string encoding_digest;  // Tokenizer::encoding_digest()
  std::string ranks_pattern;    // of a file of tiktoken ranks: divides text, in Perl's syntax
  bool is_bytes = false;

  AddedTokens raw_added;  // found in the text as it is
  Normalizer normalizer;
  std::optional<SentencePieceNormalizer> sentencepiece_normalizer;  // instead of normalizer
  AddedTokens normalized_added;                                     // found in the normalized text
  PreTokenizer pre_tokenizer;
  std::optional<Neighbors> neighbors;  // divide a word further; nullopt: words are not divided
  Bpe bpe;
  std::shared_ptr<const SentencePiece> sentencepiece;  // instead of normalizer to bpe

  std::vector<std::string> token_bytes;  // by id; empty: no token
  IdByText ids;                          // ordinary tokens by their bytes
  IdByText added_ids;                    // added tokens by their text
  std::vector<SpecialToken> special_tokens;
  std::optional<Id> end_of_text, begin_of_text;
  bool strips_first_space = false;  // decode() undoes the prefix of a text
  std::string text_changes;         // Tokenizer::text_changes()

  /// Enters an ordinary token. \param bytes  what it decodes to
  void add_token(std::string bytes, Id id);
  /// Enters an added token for find_token() and decode().
  void add_added_token(const std::string& text, Id id, bool special);
};

}  // namespace evenkeel::tokenizer
