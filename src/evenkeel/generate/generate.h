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
  std::int64_t max_new_tokens = 256;       // to add, at most
  std::optional<std::int64_t> stop_token;  // a token that ends the text; it is not returned
  Sampling sampling;
  std::uint64_t sequence = 0;  // which of several texts with one seed
  bool use_cache = true;       // false: the whole text goes through the model for every token
  std::function<void(std::int64_t)> on_token = {};  // called with each token as it comes
};

/// Continues a text token by token with a key-value cache. Beyond the model's context the cache is
/// rebuilt from the last half of it, so a text may have any length.
/// \return the tokens added
std::vector<std::int64_t> generate(const nn::Model& model, const GenerationOptions& options);

}  // namespace evenkeel::generate
