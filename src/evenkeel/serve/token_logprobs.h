// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "evenkeel/nn/model.h"

namespace evenkeel::serve {

/// A token and its log-probability, in nats.
struct RankedToken {
  std::int64_t token = 0;
  double logprob = 0;
};

/// The log-probability of one token after the tokens before it, and the most probable tokens there.
struct TokenLogprob {
  std::int64_t token = 0;
  std::optional<double> logprob;  // nullopt: the first token of a prompt
  /// The `top` most probable tokens, by descending probability, then by id; then `token`, if it is
  /// not among them. Empty for the first token of a prompt.
  std::vector<RankedToken> top;
};

/// The log-probabilities of the tokens of a prompt.
struct TokenLogprobs {
  std::vector<TokenLogprob> tokens;  // one per token
  std::vector<double> next_logits;   // [V], for the token after the prompt
};

/// ln softmax(logits)[token], computed in float64, with the `top` most probable tokens.
/// \param logits  [V]
/// \throws Error (diverged) for a logit that is NaN or +inf
TokenLogprob token_logprob(const std::vector<double>& logits, std::int64_t token, std::int64_t top);

/// token_logprob() of each token of each prompt. Prompts of similar length share a forward pass:
/// they are padded on the right, which no earlier token sees. A model that sees later tokens even
/// in evaluation (norm::causal_in_evaluation) runs once per prompt. The logits of at most 4 Mi
/// numbers exist at a time.
/// \param prompts      each of 1 to `context` token ids below V
/// \param interrupted  is called before each forward pass; true ends the function
/// \return in the order of the prompts; empty if `interrupted` returned true
/// \throws Error (diverged) as token_logprob()
std::vector<TokenLogprobs> prompt_logprobs(const nn::Model& model,
                                           const std::vector<std::vector<std::int64_t>>& prompts,
                                           std::int64_t top,
                                           const std::function<bool()>& interrupted);

}  // namespace evenkeel::serve
