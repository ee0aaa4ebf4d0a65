// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/tokenizer/line_cut.h"

namespace evenkeel::tokenizer {

using Id = std::uint32_t;
struct Model;

/// A token with a meaning of its own, as `<|endoftext|>`.
struct SpecialToken {
  std::string text;
  Id id;
};

struct LoadOptions {
  /// Of a file of tiktoken ranks: a name (gpt2, cl100k, llama3, qwen2, o200k, ...) or a regular
  /// expression. Empty: by the file's name.
  std::string pattern;
};

/// Text to token ids and back. Immutable; copies share their content; threads may share one.
class Tokenizer {
 public:
  /// Ids 0 to 255 are bytes, 256 is `<|endoftext|>`. The string `<|endoftext|>` in a text is text.
  static Tokenizer bytes();

  /// \param path  a tokenizer.json; a folder with one, or with a tokenizer.model; a SentencePiece
  ///              .model; a .tiktoken file of ranks
  /// \throws Error (data, exit code 65) for a file that is damaged, or has an unsupported field
  ///         (its path and value are in the message); (io, exit code 74) for an unreadable file
  static Tokenizer load(const std::string& path, const LoadOptions& options = {});

  /// "bytes", "byte-level BPE", "SentencePiece BPE" or "tiktoken BPE".
  const std::string& kind() const;
  /// The file that was read; empty for bytes.
  const std::string& path() const;
  /// The largest id + 1.
  std::int64_t vocabulary() const;
  /// XXH3-128 of the file, 32 hexadecimal digits; "bytes" for bytes.
  const std::string& digest() const;
  /// XXH3-128 of the fields of a tokenizer.json that determine the ids of a text: vocabulary,
  /// merges, normalizer, pre-tokenizer, added tokens, decoder. Order of keys, white space,
  /// post-processor, truncation and padding do not change it. "" for other kinds of files.
  const std::string& encoding_digest() const;
  /// In the order of their ids.
  const std::vector<SpecialToken>& special_tokens() const;
  /// The special or ordinary token of exactly this text.
  std::optional<Id> find_token(std::string_view text) const;
  /// `<|endoftext|>`; without one, the eos_token of tokenizer_config.json in the same folder, or
  /// the eos_id of a .model.
  std::optional<Id> end_of_text() const;
  /// The token that the post-processor puts before a text.
  std::optional<Id> begin_of_text() const;
  /// Whether the post-processor puts a special token before a text (Llama 3, Llama 2).
  bool begins_with_special() const;

  /// What the normalizer of a SentencePiece model does to every text, as in the package
  /// sentencepiece: "replaces characters (nmt_nfkc) and removes extra spaces". The ids then decode
  /// to the changed text. "" for nothing, and for other kinds.
  const std::string& text_changes() const;

  /// Where a text may be divided: known for the tokenizers whose pattern is a WordPattern.
  LineCut line_cut() const;

  /// The bytes of the tokens. Special tokens give their text, ids without a token nothing.
  std::string decode(std::span<const std::int64_t> ids) const;
  /// The bytes of one token; empty for an id without a token.
  std::string token_bytes(Id id) const;

  /// For Encoder.
  const Model& model() const { return *model_; }

 private:
  explicit Tokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  std::shared_ptr<const Model> model_;
};

}  // namespace evenkeel::tokenizer
