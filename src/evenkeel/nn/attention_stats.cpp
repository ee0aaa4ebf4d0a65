// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/attention_stats.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "evenkeel/ops/attention/causal_attention.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"

namespace evenkeel::nn {

namespace {

constexpr auto kMasked = -std::numeric_limits<double>::infinity();

/// Scores of n queries of one key head against the S' keys that the last query sees.
struct Tile {
  at::Tensor scores;  // [g, n, S'], float32 or float64, before the cap
  at::Tensor masked;  // [n, S'], bool: keys that a query does not see
};

/// The tile of the queries first .. first + count - 1.
/// \param q  [g, T, dk], the queries of the last T positions
/// \param k  [S, dk]
/// \param document_starts  [T], int32, or undefined
Tile tile_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& document_starts,
             std::int64_t first, std::int64_t count) {
  const auto wide = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto earlier = k.size(0) - q.size(1) + first;  // positions before the first query
  const auto visible = earlier + count;
  const auto queries = q.narrow(1, first, count).to(wide);
  const auto keys = k.narrow(0, 0, visible).to(wide);
  const auto ones = at::ones({count, visible}, q.options().dtype(at::kBool));
  auto masked = ones.triu(earlier + 1);
  if (document_starts.defined()) {
    const auto from = document_starts.narrow(0, first, count).unsqueeze(1);
    masked = masked.logical_or(at::arange(visible, document_starts.options()) < from);
  }
  return {ops::deterministic_linear(queries, keys), masked};
}

/// Calls `visit` with the scores of all queries, tile by tile.
/// \param visit  gets the key head and the tile; scores are scaled, and -inf where a query does not
///               see the key
template <typename Visit>
void for_each_tile(const AttentionInputs& inputs, const Visit& visit) {
  constexpr std::int64_t kScores = 1 << 21;  // of one tile, about
  const auto& q = inputs.q;
  const auto kv_heads = inputs.k.size(1);
  const auto group = q.size(1) / kv_heads;
  const auto queries = q.size(2);
  const auto step = std::max<std::int64_t>(1, kScores / (group * inputs.k.size(2)));
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    const auto heads = q[b].unflatten(0, {kv_heads, group});  // [kv, g, T, dk]
    const auto document_starts =
        inputs.document_starts.defined() ? inputs.document_starts[b] : at::Tensor();
    for (std::int64_t h = 0; h < kv_heads; ++h) {
      for (std::int64_t first = 0; first < queries; first += step) {
        auto tile = tile_of(heads[h], inputs.k[b][h], document_starts, first,
                            std::min(step, queries - first));
        tile.scores.mul_(inputs.scale).masked_fill_(tile.masked, kMasked);
        visit(h, tile);
      }
    }
  }
}

at::Tensor weights_of(const Tile& tile, const std::optional<double>& softcap) {
  if (!softcap) return at::softmax(tile.scores, -1);
  const auto capped = at::tanh(tile.scores / *softcap) * *softcap;
  return at::softmax(capped.masked_fill(tile.masked, kMasked), -1);
}

/// The largest score of each head so far.
struct RunningMax {
  explicit RunningMax(const AttentionInputs& inputs)
      : of_heads(at::full({inputs.k.size(1), inputs.q.size(1) / inputs.k.size(1)}, kMasked,
                          inputs.q.options().dtype(at::kDouble))) {}
  void add(std::int64_t h, const Tile& tile) {
    const auto largest = of_heads[h];
    largest.copy_(at::maximum(largest, tile.scores.amax({1, 2}).to(at::kDouble)));
  }
  at::Tensor of_heads;  // [kv, g]
};

}  // namespace

at::Tensor max_attention_scores(const AttentionInputs& inputs) {
  const at::NoGradGuard no_grad;
  const auto document_starts =
      inputs.document_starts.defined() ? std::optional(inputs.document_starts) : std::nullopt;
  if (inputs.q.numel() > 0) {
    const auto positions_first = [](const at::Tensor& x) { return x.transpose(1, 2); };
    return ops::largest_scores(positions_first(inputs.q), positions_first(inputs.k), inputs.scale,
                               document_starts);
  }
  RunningMax largest(inputs);
  for_each_tile(inputs, [&](std::int64_t h, const Tile& tile) { largest.add(h, tile); });
  return largest.of_heads.flatten();
}

AttentionStats attention_stats(const AttentionInputs& inputs) {
  const at::NoGradGuard no_grad;
  const auto& q = inputs.q;
  AttentionStats result;
  RunningMax largest(inputs);
  for_each_tile(inputs, [&](std::int64_t h, const Tile& tile) {
    largest.add(h, tile);
    // 0 ln 0 counts as 0. Sums along rows first: one order for any number of threads.
    const auto weights = weights_of(tile, inputs.softcap);
    const auto rows = at::special_entr(weights).to(at::kDouble).sum(-1);
    result.entropy += rows.sum(-1).sum().item<double>();
  });
  result.largest = largest.of_heads.flatten();
  result.entropy /= static_cast<double>(q.size(0) * q.size(1) * q.size(2));
  return result;
}

void AttentionShifts::add(const AttentionShifts& other) {
  queries += other.queries;
  sparse += other.sparse;
  shifted.resize(std::max(shifted.size(), other.shifted.size()));
  for (std::size_t i = 0; i < other.shifted.size(); ++i) shifted[i] += other.shifted[i];
}

AttentionShifts attention_shifts(const AttentionInputs& inputs, const at::Tensor& factors) {
  const at::NoGradGuard no_grad;
  AttentionShifts result;
  result.shifted.resize(static_cast<std::size_t>(factors.size(0)));
  for_each_tile(inputs, [&](std::int64_t h, const Tile& tile) {
    const auto visible = tile.scores.size(-1);
    const auto has_choice = tile.masked.logical_not().sum(-1).gt(1);  // [n]: of the queries
    const auto sparse = weights_of(tile, inputs.softcap).amax(-1).gt(0.5).logical_and(has_choice);
    result.queries += has_choice.sum().item<std::int64_t>() * tile.scores.size(0);
    result.sparse += sparse.sum().item<std::int64_t>();
    const auto before = tile.scores.argmax(-1);
    for (std::int64_t set = 0; set < factors.size(0); ++set) {
      // A score is linear in the length of its key, and a cap keeps the order of scores.
      const auto factor = factors[set][h].narrow(0, 0, visible).to(tile.scores.scalar_type());
      const auto after = (tile.scores * factor).masked_fill(tile.masked, kMasked).argmax(-1);
      result.shifted[static_cast<std::size_t>(set)] +=
          after.ne(before).logical_and(sparse).sum().item<std::int64_t>();
    }
  });
  return result;
}

}  // namespace evenkeel::nn
