// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/serve/completion_request.h"
#include "evenkeel/serve/served_model.h"

namespace evenkeel::serve {

/// A token of a result with its log-probability, as the field `logprobs` of OpenAI's API has it.
struct CompletionToken {
  std::string text;                                 // token_text()
  std::optional<double> logprob;                    // nullopt: no token comes before it
  std::vector<std::pair<std::string, double>> top;  // distinct texts
  std::int64_t offset = 0;                          // its first character in the text of the choice
};

/// A part of a choice: the echoed prompt, or what one generated token adds.
struct CompletionPiece {
  std::size_t index = 0;                // number of the choice
  std::string text;                     // UTF-8
  std::vector<CompletionToken> tokens;  // empty without `logprobs`
  const char* finish_reason = nullptr;  // of the last piece: "length" or "stop"
  std::int64_t generated = 0;           // tokens that this piece generated
};

/// The numbers of tokens of a request.
struct Usage {
  std::int64_t prompt_tokens = 0;      // of each prompt once, for any `n`
  std::int64_t completion_tokens = 0;  // an end-of-text token that ends a text is one of them
};

/// Runs a request, prompt after prompt. Prompt i gives the choices i n to i n + n - 1, which grow
/// together. Choice c has the random stream (seed, c).
///
/// With `logprobs`, a choice has one token entry per token of the prompt (if `echo`) and per
/// generated token, end-of-text included. The probabilities are those of the model, before
/// temperature, top-k and top-p. A begin token before a text has no entry.
///
/// \param prompts      encode_prompts()
/// \param on_piece     gets the pieces, those of a choice in order; false ends the request
/// \param interrupted  is called before each forward pass; true ends the request
/// \return nullopt if on_piece or interrupted ended it
/// \throws Error (diverged) if logits are not finite
std::optional<Usage> complete(const ServedModel& served, const CompletionRequest& request,
                              const std::vector<EncodedPrompt>& prompts,
                              const std::function<bool(CompletionPiece)>& on_piece,
                              const std::function<bool()>& interrupted);

}  // namespace evenkeel::serve
