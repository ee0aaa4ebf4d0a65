// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "evenkeel/tokenizer/tokenizer.h"

namespace evenkeel::tokenizer {

/// Encodes texts. Holds the ids of frequent words (4 MiB), so each thread has its own.
class Encoder {
 public:
  /// \param special_in_text  false: the text of a special token is encoded as any text
  explicit Encoder(const Tokenizer& tokenizer, bool special_in_text = true);
  Encoder(Encoder&& other) noexcept;
  Encoder& operator=(Encoder&& other) noexcept;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  ~Encoder();

  /// Appends the ids of a text. No token is put before or after it.
  /// \param continues  the text is the rest of one that was cut after a line feed: a tokenizer with
  ///                   a prefix before a text (Llama 2) puts none before it. A SentencePiece model
  ///                   that libsentencepiece encodes with has the prefix nevertheless
  /// \throws Error (data, exit code 65) for a text that is not UTF-8 (except with bytes), is longer
  ///         than 1 GiB, or has a byte without a token
  void encode(std::string_view utf8, std::vector<Id>& out, bool continues = false);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::tokenizer
