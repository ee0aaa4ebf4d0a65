// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/norm/scheme.h"

/// The arithmetic of a model, in floating-point operations (FLOPs), computed from sizes alone.
/// Knows no torch. A multiply-add counts as 2.
namespace evenkeel::nn {

/// FLOPs of a forward and backward pass for each token:
///   6 * (weights of all matrix products, the head once) + 6 * N * context * d
/// The second term is causal attention. In a mixture of experts, the weights are those of the
/// router and of the experts that are active for a token. Norms, activations and the softmax are
/// left out.
/// \param padded_vocabulary  rows of the head
double flops_per_token(const norm::Scheme& scheme, std::int64_t padded_vocabulary);

/// FLOPs of all norms for each token, forward and backward: 12 for each value that a norm sees,
/// whatever its kind; 4 of them forward (square, sum, scale, gain). A norm of hidden values counts
/// for every feed-forward that is active for the token.
double norm_flops_per_token(const norm::Scheme& scheme);

/// The norms' share of the FLOPs of a forward pass as the HybridNorm paper counts it:
///   4 n s d / (24 s d^2 + 4 s^2 d) = n / (6 d + s)
/// n is the number of norms a block (2 for Pre-Norm, 4 for HybridNorm), each of d values; s is the
/// context. The paper's model has no head and no final norm, attention without a causal mask, and a
/// feed-forward of width 8/3 d.
/// \source arXiv:2503.04598, table 11
double paper_norms_share(const norm::Scheme& scheme);

}  // namespace evenkeel::nn
