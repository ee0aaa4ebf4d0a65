// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/generate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/norm/leakage.h"

namespace evenkeel::generate {

namespace {

/// A model with its key-value cache, and the window of the text that the cache covers.
class CachedDecoder {
 public:
  CachedDecoder(const nn::Model& model, bool use_cache)
      : model_(model),
        context_(model.scheme().shape.context),
        use_cache_(use_cache && norm::causal_in_evaluation(model.scheme())) {}

  /// The logits for the token after `text`, [V]. Only tokens that are not in the cache go through
  /// the model.
  std::vector<double> logits_after(const std::vector<std::int64_t>& text) {
    const auto size = static_cast<std::int64_t>(text.size());
    const bool full = size - window_start_ > context_;
    if (full || cache_.empty() || !use_cache_) {
      if (full) window_start_ = size - std::max<std::int64_t>(1, context_ / 2);
      cache_ = model_.empty_cache(1, context_);
      cached_tokens_ = window_start_;
    }
    const auto fresh = tensor_of(text, cached_tokens_);
    cached_tokens_ = size;
    const auto x = model_.hidden(fresh, {.cache = use_cache_ ? &cache_ : nullptr});
    const auto last =
        model_.logits(x.select(1, x.size(1) - 1)).to(at::kCPU, at::kDouble).contiguous();
    const auto* const values = last.const_data_ptr<double>();
    return {values, values + last.numel()};
  }

 private:
  /// The tokens from `first` on. [1, T], int64
  static at::Tensor tensor_of(const std::vector<std::int64_t>& text, std::int64_t first) {
    const std::vector<std::int64_t> part(text.begin() + first, text.end());
    return nn::batch_tensors(part, part, 1).first;
  }

  const nn::Model& model_;
  std::int64_t context_;
  bool use_cache_;
  nn::ModelCache cache_;
  std::int64_t window_start_ = 0;   // index in the text: first token in the cache
  std::int64_t cached_tokens_ = 0;  // index in the text: first token that is not in the cache
};

}  // namespace

std::vector<std::int64_t> generate(const nn::Model& model, const GenerationOptions& options) {
  EK_ASSERT(!options.prompt.empty());
  const at::NoGradGuard no_grad;
  auto text = options.prompt;
  std::vector<std::int64_t> added;
  CachedDecoder decoder(model, options.use_cache);
  while (static_cast<std::int64_t>(added.size()) < options.max_new_tokens) {
    const auto logits = decoder.logits_after(text);
    const auto token = sample_token(logits, options.sampling, text.size(), options.sequence);
    if (options.on_logits) options.on_logits(token, logits);
    if (options.stop_token && token == *options.stop_token) break;
    text.push_back(token);
    added.push_back(token);
    if (options.on_token && !options.on_token(token)) break;
  }
  return added;
}

}  // namespace evenkeel::generate
