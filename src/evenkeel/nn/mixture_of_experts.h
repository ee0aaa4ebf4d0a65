// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "evenkeel/nn/expert_assignment.h"
#include "evenkeel/nn/feed_forward.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/nn/norm_layer.h"

namespace evenkeel::nn {

/// The router's outputs in one block for N tokens, and their assignment to experts.
struct Routing {
  at::Tensor logits;         // [N, E], float32 or float64
  at::Tensor probabilities;  // [N, E]: their softmax
  at::Tensor weights;        // [N, k]: those of the chosen experts, as they are used
  ExpertAssignment assignment;
};

/// The two auxiliary losses of one router, before their weights: both scalars.
///   balance = E / (N k) * sum over e of count_e * mean over n of p[n, e]
///   z       = 1 / (N k) * sum over n of (ln sum over e of exp(logit[n, e]))^2
/// Counts are constants to the gradient. With the same number of tokens for every expert, and equal
/// probabilities, balance is 1. The k under z is the expert library's.
/// \source Fedus et al. 2021, arXiv:2101.03961, eq. 4; Zoph et al. 2022, arXiv:2202.08906, eq. 5
struct RouterLosses {
  at::Tensor balance, z;
};
RouterLosses router_losses(const Routing& routing);

/// The feed-forward branch of one block as a mixture of experts:
///   p = softmax(W_router x);   y = sum over the k largest p_e of p_e * expert_e(x)
///   expert(x) = down(norm(silu(gate) * up))
/// No token is dropped. The weights stand before `down`, which is linear: so nothing of the width
/// of the stream is kept for the backward pass but what enters the experts.
/// \source Muennighoff et al. 2024, arXiv:2409.02060, section 2
struct MixtureOfExperts {
  at::Tensor router;                  // [E, width], at least float32
  at::Tensor bias;                    // [E]: added to p when experts are chosen; may be undefined
  Matrix up_gate;                     // [E, 2 * inner, width]: of each expert up, then gate
  Matrix down;                        // [E, width, inner]
  std::optional<FeedForward> shared;  // on every token
  std::optional<NormLayer> hidden_norm;
  std::int64_t top_k = 1;    // k
  bool renormalize = false;  // the weights of a token's experts add up to 1
  bool fused = true;         // false: expert by expert

  /// \param x  [B, T, width]
  /// \param routing_out  if given, gets the router's outputs
  at::Tensor operator()(const at::Tensor& x, Mode mode, Routing* routing_out = nullptr) const;

 private:
  at::Tensor grouped(const at::Tensor& rows, const Routing& routing, Mode mode) const;
  at::Tensor expert_by_expert(const at::Tensor& rows, const Routing& routing, Mode mode) const;
};

}  // namespace evenkeel::nn
