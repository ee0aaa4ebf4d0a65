// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/data/text_encoding.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/serve/completion_request.h"

namespace evenkeel::serve {

/// A model that the server offers.
struct ServedModel {
  const nn::Model* model = nullptr;
  std::shared_ptr<const data::TextEncoding> encoding;
  std::string id;             // name of the run and step: "hybrid_norm_star-tiny-1-step-400"
  bool has_tokenizer = true;  // false: the tokens have no known text; prompts must be ids
  std::int64_t created = 0;   // time of the start, in seconds since 1970

  /// Tokens with a logit.
  std::int64_t vocabulary() const { return model->scheme().shape.vocabulary; }
  std::int64_t context() const { return model->scheme().shape.context; }
  /// nullopt: there is none, or it is unknown.
  std::optional<data::TokenId> end_of_text() const {
    return has_tokenizer ? encoding->end_of_text() : std::nullopt;
  }
};

/// A prompt as tokens.
struct EncodedPrompt {
  std::vector<std::int64_t> ids;  // at least one
  bool has_begin = false;         // ids[0] was put before the text; it is no part of an echo
  std::string bytes;              // of the prompt: its text, or the bytes of its ids
};

/// The prompts of a request as tokens. A text is encoded as the texts of the run; data.begin
/// decides whether end-of-text is put before it. Ids remain as they are.
/// \throws RequestError (400) for a prompt that is longer than the context together with
/// max_tokens,
///         for an id beyond the vocabulary, for a text without a tokenizer, and for a result with
///         more than kMaxTokens log-probabilities
std::vector<EncodedPrompt> encode_prompts(const ServedModel& served,
                                          const CompletionRequest& request);

/// \throws RequestError (400) if the tokens of the model have no known text
void check_has_tokenizer(const ServedModel& served);

/// The ids of a text, with a begin token as in encode_prompts(), if `add_special_tokens`. Special
/// tokens are recognized in the text; with the tokenizer "bytes", only as the whole text. So a
/// client learns their ids from their names.
/// \throws RequestError (400)
std::vector<std::int64_t> tokenize(const ServedModel& served, const TokenizeRequest& request);

/// The bytes of tokens, as UTF-8: U+FFFD for what is not well-formed.
/// \throws RequestError (400)
std::string detokenize(const ServedModel& served, const std::vector<std::int64_t>& ids);

/// A token as OpenAI's API writes it: its text; "bytes:\\xe2\\x82" for bytes that are not UTF-8;
/// "token_id:7" for an id without bytes.
std::string token_text(const ServedModel& served, std::int64_t id);

/// The bytes of a token; empty for an id without a token or without a known text.
std::string token_bytes(const ServedModel& served, std::int64_t id);

}  // namespace evenkeel::serve
