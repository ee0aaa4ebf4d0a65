// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/scores.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>

namespace evenkeel::nn {

ScoreStatistics statistics_of(const AttentionInputs& inputs) {
  const at::NoGradGuard no_grad;
  const auto& [q, k, scale, softcap] = inputs;
  const auto wide = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto kv_heads = k.size(1);
  const auto queries = q.size(2);
  const auto positions = k.size(2);
  const auto future =
      at::ones({queries, positions}, q.options().dtype(at::kBool)).triu(positions - queries + 1);
  constexpr auto kNever = -std::numeric_limits<double>::infinity();

  ScoreStatistics result;
  result.largest = at::full({q.size(1)}, kNever, q.options().dtype(at::kDouble));
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    const auto heads = q[b].to(wide).unflatten(0, {kv_heads, -1});   // [kv, g, T, dk]
    const auto keys = k[b].to(wide).unsqueeze(1).transpose(-1, -2);  // [kv, 1, dk, S]
    auto scores = (at::matmul(heads, keys) * scale).flatten(0, 1);   // [h, T, S]
    scores = scores.masked_fill(future, kNever);
    result.largest = at::maximum(result.largest, scores.amax({1, 2}).to(at::kDouble));
    if (softcap) scores = at::tanh(scores / *softcap) * *softcap;
    scores = scores.masked_fill(future, kNever);
    const auto weights = at::softmax(scores, -1);
    // 0 ln 0 counts as 0. Sums along rows first: one order for any number of threads.
    const auto rows = at::special_entr(weights).to(at::kDouble).sum(-1);  // [h, T]
    result.entropy += rows.sum(-1).sum().item<double>();
  }
  result.entropy /= static_cast<double>(q.size(0) * q.size(1) * queries);
  return result;
}

}  // namespace evenkeel::nn
