// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/observer.h"

namespace evenkeel::nn {

/// What the scores of one attention look like, over a batch and its causal pairs.
struct ScoreStatistics {
  at::Tensor largest;  // [h], float64: the largest score of each head after scale, before cap
  double entropy = 0;  // nats: -sum a ln a of the weights, mean over batch, heads and queries
};

/// Written out some queries of a key head at a time, without a gradient, in float64 where the
/// inputs are, else in float32: the memory does not grow with the sequence.
ScoreStatistics statistics_of(const AttentionInputs& inputs);

}  // namespace evenkeel::nn
