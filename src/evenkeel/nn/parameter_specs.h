// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// The tensors of a model, by name, without making any. Knows no torch.
namespace evenkeel::nn {

/// What a tensor is for: it decides weight decay, initial values and precision.
enum class ParameterRole {
  embedding,  // rows of tokens; tied, it is the head too
  matrix,  // every other matrix, an untied head included; experts are stacked: [E, rows, columns]
  router,  // selects experts: a matrix, but at least float32
  gain,    // parameters of norms: one dimension, at least float32
  scale,   // learned numbers that are no parameter of a norm: the same
  state,   // no parameter: what is kept from step to step without a gradient
};

struct ParameterSpec {
  std::string name;                 // "blocks.0.attention.qkv.weight"
  std::vector<std::int64_t> shape;  // matrices [rows, columns], gains [n]
  ParameterRole role = ParameterRole::matrix;
  std::int64_t numel() const;
};

/// All parameters of a model under a scheme, in the order of the forward pass; initialize() says
/// what they start at.
///
/// \param padded_vocabulary  rows of the embedding and of an untied head
/// \param tied  the head is the embedding
std::vector<ParameterSpec> parameter_specs(const norm::Scheme& scheme,
                                           std::int64_t padded_vocabulary, bool tied);

/// Numbers of parameters of a model.
struct ParameterCounts {
  std::int64_t total = 0, embedding = 0, norms = 0;
  std::int64_t without_embedding() const { return total - embedding; }
};
ParameterCounts parameter_counts(const std::vector<ParameterSpec>& specs);

/// Parameters that are active for one token: of the experts of a mixture, those it is dispatched
/// to.
std::int64_t active_parameters(const std::vector<ParameterSpec>& specs, const norm::Shape& shape);

/// Floating-point operations of a forward and backward pass, for each token:
///   6 * (weights of all matrix products, the head once) + 6 * N * context * d  (causal attention)
/// In a mixture those of the experts that work on a token, and of the router.
/// A multiply-add counts as 2; norms, activations and the softmax are left out.
double flops_per_token(const norm::Scheme& scheme, std::int64_t padded_vocabulary);

/// Those of the norms, forward and backward: 12 for each value that a norm sees (forward 4: square,
/// sum, scale, gain), whatever its kind; of hidden values those of all feed-forwards that work on
/// the token.
double norm_flops_per_token(const norm::Scheme& scheme);

/// The norms' share of the FLOPs of a forward pass as the paper counts it, for n norms a block,
/// each of d values whatever it sees, in a model without head and final norm, whose attention looks
/// behind and ahead and whose feed-forward is 8/3 d wide:
///   4 n s d / (24 s d^2 + 4 s^2 d) = n / (6 d + s)
/// \source arXiv 2503.04598, table 11: n is 2 for Pre-Norm, 4 for HybridNorm
double paper_norms_share(const norm::Scheme& scheme);

}  // namespace evenkeel::nn
