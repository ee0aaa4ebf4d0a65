// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "evenkeel/generate/sampler.h"
#include "evenkeel/nn/model.h"

namespace evenkeel::generate {

struct GenerationOptions {
  std::vector<std::int64_t> prompt;        // at least one token
  std::int64_t max_new_tokens = 256;       // maximum number of new tokens
  std::optional<std::int64_t> stop_token;  // ends the text; it is not part of the result
  Sampling sampling;
  std::uint64_t sequence = 0;  // index of the sequence: several texts per seed
  bool use_cache = true;       // false: each token needs a forward pass over the whole text
  std::function<void(std::int64_t)> on_token = {};  // called with each new token
};

/// Continues a text token by token with a key-value cache. When the text exceeds the model's
/// context, the cache is rebuilt from the last context / 2 tokens, so the length is not limited.
/// \return the new tokens
std::vector<std::int64_t> generate(const nn::Model& model, const GenerationOptions& options);

}  // namespace evenkeel::generate
