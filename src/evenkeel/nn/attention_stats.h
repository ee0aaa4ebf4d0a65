// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/nn/observer.h"

namespace evenkeel::nn {

/// Statistics of the scores of one attention, over a batch and its causal pairs.
struct AttentionStats {
  at::Tensor largest;  // [h], float64: the largest score of each head after scale, before cap
  double entropy = 0;  // nats: -sum a ln a of the weights, mean over batch, heads and queries
};

/// Scores are materialized in tiles of queries of a key head, without a gradient, in float64 where
/// the inputs are, else in float32: the memory does not grow with the sequence.
AttentionStats attention_stats(const AttentionInputs& inputs);

/// Of it the largest scores alone: [h], float64, after scale, before cap; no NaN is. On a CPU by
/// ops::largest_scores().
at::Tensor max_attention_scores(const AttentionInputs& inputs);

/// Attention under perturbed keys, multiplied by factors near 1: how many queries change their
/// argmax.
struct AttentionShifts {
  std::int64_t queries = 0;  // that see two keys or more, over batch and heads
  std::int64_t sparse = 0;   // of these: one key has more than half of the weight
  /// Of the sparse ones, one count for each set of factors: these give another key the most weight.
  std::vector<std::int64_t> shifted;

  void add(const AttentionShifts& other);
};

/// Materialized as above, once for all sets of factors.
/// \param factors  [sets, kv, S], of the keys of every sequence
/// \source arXiv 2406.17837: "circuit collapse", when noise on the lengths of keys moves a sparse
///         attention to another token
AttentionShifts attention_shifts(const AttentionInputs& inputs, const at::Tensor& factors);

}  // namespace evenkeel::nn
