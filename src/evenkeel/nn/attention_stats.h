// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/nn/attention_inputs.h"

namespace evenkeel::nn {

/// Statistics of the attention scores of one block, over all visible (query, key) pairs of a batch.
struct AttentionStats {
  at::Tensor largest;  // [h], float64: max score per head, after scale, before cap
  double entropy = 0;  // nats: -sum a ln a over keys, mean over batch, heads and queries
};

/// Computes the statistics; not differentiable. Scores are materialized tile by tile (a few queries
/// of one key head), so memory does not grow with T S. Arithmetic is float64 for float64 inputs,
/// else float32.
AttentionStats attention_stats(const AttentionInputs& inputs);

/// AttentionStats::largest alone. NaN scores are ignored. On a CPU it is ops::largest_scores().
/// \return [h], float64
at::Tensor max_attention_scores(const AttentionInputs& inputs);

/// Counts of queries whose argmax changes if each key is multiplied by a random factor near 1.
struct AttentionShifts {
  std::int64_t queries = 0;  // queries with two or more visible keys, over batch and heads
  std::int64_t sparse = 0;   // queries with more than half of the attention on one key
  /// Sparse queries whose argmax changes; one count per set of factors.
  std::vector<std::int64_t> shifted;

  /// Adds the counts of another batch with the same number of sets of factors.
  void add(const AttentionShifts& other);
};

/// Counts the shifts. Scores are materialized as in attention_stats(), once for all sets.
/// \param factors  [sets, kv, S], the same for every sequence of the batch
/// \source arXiv:2406.17837: "circuit collapse", when noise on the norms of keys moves sparse
///         attention to another token
AttentionShifts attention_shifts(const AttentionInputs& inputs, const at::Tensor& factors);

}  // namespace evenkeel::nn
