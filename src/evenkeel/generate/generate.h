// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "evenkeel/generate/sampler.h"
#include "evenkeel/nn/model.h"

namespace evenkeel::generate {

/// The options of generated texts, all of one prompt.
struct GenerationOptions {
  std::vector<std::int64_t> prompt;        // at least one token
  std::int64_t max_new_tokens = 256;       // upper limit
  std::optional<std::int64_t> stop_token;  // ends a text; it is not returned
  Sampling sampling;
  std::uint64_t sequence = 0;  // number of the first text among several with one seed
  bool use_cache = true;       // false: the whole window is computed again for every token
  /// Called with each sampled token, the stop token included, and the logits of its position, [V].
  std::function<void(std::int64_t, const std::vector<double>&)> on_logits = {};
  /// Called with each new token, after on_logits; false ends the text after it.
  std::function<bool(std::int64_t)> on_token = {};
};

/// Continues a text token by token with a key-value cache. A text may be longer than the model's
/// context: of a longer prompt, the model sees the last `context` tokens; when the cache is full,
/// it is rebuilt from the last context / 2 tokens. A model that sees later tokens even in
/// evaluation runs without a cache.
/// \return the new tokens
/// \throws Error (diverged) as sample_token()
std::vector<std::int64_t> generate(const nn::Model& model, const GenerationOptions& options);

/// Gets the index of a text, from 0, its sampled token, the stop token included, and the logits of
/// its position, [V].
using SampledHandler = std::function<void(std::int64_t, std::int64_t, const std::vector<double>&)>;

/// Several continuations of one prompt, numbered from options.sequence. Their tokens go through the
/// model as one batch, which reads each weight once for all of them. Text i is generate() of
/// sequence i, up to the rounding of matrix products with another number of rows.
/// \param count       texts, at least 1
/// \param on_token    in place of options.on_token and on_logits, which are not called: gets the
///                    index of the text, from 0, and its new token; false ends that text
/// \param on_end      gets the index of a text that has ended
/// \param on_sampled  is called before on_token
/// \throws Error (diverged) as sample_token()
void generate_batch(const nn::Model& model, const GenerationOptions& options, std::int64_t count,
                    const std::function<bool(std::int64_t, std::int64_t)>& on_token,
                    const std::function<void(std::int64_t)>& on_end,
                    const SampledHandler& on_sampled = {});

/// The largest batch of generate_batch() whose key-value cache takes at most `bytes`; at least 1.
std::int64_t largest_batch(const nn::Model& model, const GenerationOptions& options, double bytes);

}  // namespace evenkeel::generate
