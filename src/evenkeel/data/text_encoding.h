// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/tokenizer/tokenizer.h"

namespace evenkeel::data {

/// What a run has recorded of its training text: the files may be gone, or named from another
/// folder.
struct TrainedOn {
  bool token_files = false;
  bool knows_tokenizer = true;  // false: token files of which nothing says what made them
};

/// How the texts of a run become tokens: the tokenizer of data.tokenizer with data.end_of_text,
/// data.begin and data.special_in_text.
class TextEncoding {
 public:
  /// \param trained_on  of a trained model; nullopt: found out by the files of data.train
  /// \throws Error (data, exit code 65) if the tokenizer cannot be read, or has no token of
  ///         data.end_of_text
  explicit TextEncoding(const config::Data& data,
                        const std::optional<TrainedOn>& trained_on = std::nullopt);

  const tokenizer::Tokenizer& tokenizer() const { return tokenizer_; }
  bool is_bytes() const { return tokenizer_.kind() == "bytes"; }
  /// The size of the tokenizer's vocabulary.
  std::int64_t vocabulary() const { return tokenizer_.vocabulary(); }
  /// nullopt: the tokenizer has no such token.
  std::optional<TokenId> end_of_text() const { return end_of_text_; }
  /// The end-of-text token of a text.
  /// \throws Error (data) if there is none, with all special tokens, or if it is not the
  /// tokenizer's
  TokenId required_end_of_text() const;
  /// \throws Error (data, exit code 65) if end-of-text is not below `vocabulary`
  void check_end_of_text(std::int64_t vocabulary) const;
  /// True if the tokenizer made the ids of token files of this vocabulary: any tokenizer that was
  /// named. Ids of token files without a tokenizer are bytes only if they are 257.
  bool is_of_vocabulary(std::int64_t vocabulary) const;
  /// \throws Error (usage, exit code 64) if a model of `vocabulary` ids cannot read its texts
  void check_holds_text(std::int64_t vocabulary) const;
  const TokenLengths& token_lengths() const { return lengths_; }
  /// The bytes of a text and of its tokens, without an end-of-text token after it.
  /// \param ids  encode(text)
  TextBytes text_bytes(std::string_view text, std::span<const TokenId> ids) const;
  /// The bytes of the end-of-text tokens of documents: one byte each.
  /// \throws Error as required_end_of_text()
  TextBytes end_of_text_bytes(std::int64_t documents) const;
  /// True if the first token of a text that is tokenized here is end-of-text.
  bool begins_with_end_of_text() const { return begins_; }
  /// True if end-of-text is put before the text of a prompt.
  bool prompt_begins_with_end_of_text() const { return prompt_begins_ && end_of_text_; }
  bool special_in_text() const { return special_in_text_; }
  const std::optional<TrainedOn>& trained_on() const { return trained_on_; }

  /// A text as tokens, without end-of-text.
  std::vector<TokenId> encode(std::string_view text) const;

  /// A prompt for generation: end-of-text, then the text. With data.begin = "auto", a model that
  /// was trained on token files has no end-of-text there.
  std::vector<std::int64_t> prompt(std::string_view text) const;

 private:
  tokenizer::Tokenizer tokenizer_;
  std::optional<TokenId> end_of_text_;
  bool is_end_named_ = false;
  TokenLengths lengths_;
  std::vector<std::uint32_t> uncounted_;  // by id: bytes of its text without those of lengths_
  std::optional<TrainedOn> trained_on_;
  bool begins_ = true, prompt_begins_ = true;
  bool special_in_text_ = true;
};

/// The size of the vocabulary of data.tokenizer. Reads the tokenizer.
/// \throws Error (data, exit code 65) if it cannot be read; (usage, exit code 64) if text is read
/// as
///         bytes and model.vocabulary is smaller than their 257 ids
std::int64_t vocabulary_of(const config::Config& config);

}  // namespace evenkeel::data
