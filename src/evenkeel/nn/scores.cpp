// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/scores.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>

namespace evenkeel::nn {

namespace {

constexpr auto kNever = -std::numeric_limits<double>::infinity();

/// The queries of one key head: their scores against the keys that the last of them sees.
struct Tile {
  at::Tensor scores;  // [g, n, S'], in float32 at least
  at::Tensor future;  // [n, S']: which of them no query may see
};

/// \param first  of the queries, which stand at the end of the positions
Tile tile_of(const at::Tensor& q, const at::Tensor& k, std::int64_t first, std::int64_t count) {
  const auto wide = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto earlier = k.size(0) - q.size(1) + first;  // positions before the first query
  const auto seen = earlier + count;
  const auto queries = q.narrow(1, first, count).to(wide);
  const auto keys = k.narrow(0, 0, seen).to(wide);
  const auto ones = at::ones({count, seen}, q.options().dtype(at::kBool));
  return {at::matmul(queries, keys.t()), ones.triu(earlier + 1)};
}

}  // namespace

ScoreStatistics statistics_of(const AttentionInputs& inputs) {
  constexpr std::int64_t kScores = 1 << 21;  // of one tile, about
  const at::NoGradGuard no_grad;
  const auto& [q, k, v, scale, softcap] = inputs;
  const auto kv_heads = k.size(1);
  const auto group = q.size(1) / kv_heads;
  const auto queries = q.size(2);
  const auto step = std::max<std::int64_t>(1, kScores / (group * k.size(2)));

  ScoreStatistics result;
  result.largest = at::full({kv_heads, group}, kNever, q.options().dtype(at::kDouble));
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    const auto heads = q[b].unflatten(0, {kv_heads, group});  // [kv, g, T, dk]
    for (std::int64_t h = 0; h < kv_heads; ++h) {
      auto largest = result.largest[h];
      for (std::int64_t first = 0; first < queries; first += step) {
        const auto count = std::min(step, queries - first);
        const auto [products, future] = tile_of(heads[h], k[b][h], first, count);
        auto scores = (products * scale).masked_fill(future, kNever);
        largest.copy_(at::maximum(largest, scores.amax({1, 2}).to(at::kDouble)));
        if (softcap) {
          scores = (at::tanh(scores / *softcap) * *softcap).masked_fill(future, kNever);
        }
        // 0 ln 0 counts as 0. Sums along rows first: one order for any number of threads.
        const auto rows = at::special_entr(at::softmax(scores, -1)).to(at::kDouble).sum(-1);
        result.entropy += rows.sum(-1).sum().item<double>();
      }
    }
  }
  result.largest = result.largest.flatten();
  result.entropy /= static_cast<double>(q.size(0) * q.size(1) * queries);
  return result;
}

}  // namespace evenkeel::nn
