// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/norm/scheme.h"

/// FLOPs of a model, computed from sizes alone, without torch. A multiply-add counts as 2.
namespace evenkeel::nn {

/// FLOPs of a forward and backward pass, per token:
///   6 * (weights of all matrix products, the head once) + 6 * N * context * d
/// The second term is causal attention. In a mixture of experts, the weights are those of the
/// router and of the active experts of a token. Norms, activations and softmax are excluded.
/// \param padded_vocabulary  rows of the head
double flops_per_token(const norm::Scheme& scheme, std::int64_t padded_vocabulary);

/// FLOPs of all norms, per token, forward and backward: 12 per normalized value for all kinds, of
/// which 4 forward (square, sum, scale, gain). A norm of hidden values counts once per active
/// expert of the token.
double norm_flops_per_token(const norm::Scheme& scheme);

/// Norm FLOPs / total FLOPs of a forward pass, by the count of the HybridNorm paper:
///   4 n s d / (24 s d^2 + 4 s^2 d) = n / (6 d + s)
/// n is the number of norms per layer (2 for Pre-Norm, 4 for HybridNorm), each over d values; s is
/// the context length. The paper's model has no head and no final norm, attention without a causal
/// mask, and a feed-forward of width 8/3 d.
/// \source arXiv:2503.04598, table 11
double paper_norms_share(const norm::Scheme& scheme);

}  // namespace evenkeel::nn
