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

/// The text so far and the part of it that the cache covers.
class Reader {
 public:
  Reader(const nn::Model& model, bool cached)
      : model_(model),
        context_(model.scheme().shape.context),
        cached_(cached && norm::causal_in_evaluation(model.scheme())) {}

  /// The logits after the last token of `text`, of which all but the newest were seen before.
  std::vector<double> logits_after(const std::vector<std::int64_t>& text) {
    const auto size = static_cast<std::int64_t>(text.size());
    const bool full = size - begin_ > context_;
    if (full || cache_.empty() || !cached_) {
      if (full) begin_ = size - std::max<std::int64_t>(1, context_ / 2);
      cache_ = model_.empty_cache(1, context_);
      seen_ = begin_;
    }
    const auto fresh = tensor_of(text, seen_);
    seen_ = size;
    const auto x = model_.hidden(fresh, {.cache = cached_ ? &cache_ : nullptr});
    const auto last = model_.logits(x.select(1, x.size(1) - 1)).to(at::kDouble).contiguous();
    const auto* const values = last.const_data_ptr<double>();
    return {values, values + last.numel()};
  }

 private:
  static at::Tensor tensor_of(const std::vector<std::int64_t>& text, std::int64_t first) {
    const std::vector<std::int64_t> part(text.begin() + first, text.end());
    return nn::batch_tensors(part, part, 1).first;
  }

  const nn::Model& model_;
  std::int64_t context_;
  bool cached_;
  nn::ModelCache cache_;
  std::int64_t begin_ = 0, seen_ = 0;  // of the text: where the window starts, what is in the cache
};

}  // namespace

std::vector<std::int64_t> generate(const nn::Model& model, const Generation& wish) {
  EK_ASSERT(!wish.prompt.empty());
  const at::NoGradGuard no_grad;
  auto text = wish.prompt;
  std::vector<std::int64_t> added;
  Reader reader(model, wish.cached);
  while (static_cast<std::int64_t>(added.size()) < wish.tokens) {
    const auto token = pick(reader.logits_after(text), wish.sampling, text.size(), wish.sequence);
    if (wish.stop && token == *wish.stop) break;
    text.push_back(token);
    added.push_back(token);
    if (wish.on_token) wish.on_token(token);
  }
  return added;
}

}  // namespace evenkeel::generate
