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

/// The outputs of one router: N tokens, E experts, top-k experts per token.
struct Routing {
  at::Tensor logits;         // [N, E], float32 or float64
  at::Tensor probabilities;  // [N, E]: softmax of the logits
  at::Tensor weights;        // [N, k]: factors of the outputs of the top-k experts
  ExpertAssignment assignment;
};

/// The two auxiliary losses of one router, before their coefficients:
///   balance = E / (N k) * sum over e of count_e * mean over n of p[n, e]
///   z       = 1 / (N k) * sum over n of (ln sum over e of exp(logit[n, e]))^2
/// The counts are detached. Equal counts and equal probabilities give balance = 1. The z loss of
/// the paper has no k; MegaBlocks (branch olmoe) divides by k.
/// \source Fedus et al. 2021, arXiv:2101.03961, eq. 4; Zoph et al. 2022, arXiv:2202.08906, eq. 5
struct RouterLosses {
  at::Tensor balance;  // scalar, float32 or float64
  at::Tensor z;        // scalar, float32 or float64
};
/// Computes the auxiliary losses of a routing; differentiable.
RouterLosses router_losses(const Routing& routing);

/// The feed-forward branch of one block as a mixture of experts with top-k routing:
///   p = softmax(W_router x);   y = shared(x) + sum over the k largest p_e of p_e * expert_e(x)
///   expert(x) = W_down norm(silu(W_gate x) * W_up x), with FFN width F
/// No token is dropped. The factor p_e is applied before W_down, which is linear: of the tensors
/// with D values per token, only the input of the experts is saved for the backward pass.
/// \source Muennighoff et al. 2024, arXiv:2409.02060, section 2
struct MixtureOfExperts {
  at::Tensor router;                  // [E, D], float32 or float64
  at::Tensor bias;                    // [E], dtype of the router: added to p for the top-k
                                      // selection only; undefined: none
  Matrix up_gate;                     // [E, 2 F, D]: rows up, then gate
  Matrix down;                        // [E, D, F]
  std::optional<FeedForward> shared;  // shared experts, active for every token
  std::optional<NormLayer> hidden_norm;
  std::int64_t top_k = 1;
  bool renormalize = false;  // divides the k factors of a token by their sum
  bool fused = true;         // false: unfused, expert by expert

  /// \param x  [B, T, D]
  /// \param routing_out  output: the outputs of the router; may be null
  /// \return [B, T, D]
  at::Tensor operator()(const at::Tensor& x, Mode mode, Routing* routing_out = nullptr) const;

 private:
  at::Tensor grouped(const at::Tensor& rows, const Routing& routing, Mode mode) const;
  at::Tensor expert_by_expert(const at::Tensor& rows, const Routing& routing, Mode mode) const;
};

}  // namespace evenkeel::nn
