// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace evenkeel::nn {

/// Which experts N tokens go to, k of E each, and the order of their rows once sorted by expert. No
/// token is dropped, and there is no padding: N k rows.
struct ExpertAssignment {
  at::Tensor top_experts;          // [N, k], int64: the largest score first
  at::Tensor permutation;          // [N k], int64: of each sorted row its choice, token * k + j
  at::Tensor token_of_row;         // [N k], int64: of each sorted row its token
  at::Tensor inverse_permutation;  // [N, k], int64: of each choice its sorted row
  at::Tensor offsets;  // [E + 1], int64: the first row of each expert; its tokens are in order
  std::int64_t tokens() const { return top_experts.size(0); }
  std::int64_t top_k() const { return top_experts.size(1); }
  std::int64_t experts() const { return offsets.size(0) - 1; }
  /// Rows of each expert. [E], int64
  at::Tensor tokens_per_expert() const;
};

/// The k largest scores of each token; of equal ones, and of those that are not finite, the lower
/// index.
/// \param scores  [N, E], float32 or float64
/// \param k  1 to E
ExpertAssignment expert_assignment(const at::Tensor& scores, std::int64_t k);

/// A token's row once for every expert it goes to, sorted: y[m] = x[token_of_row[m]].
/// \param x  [N, D]
/// \return [N k, D]
at::Tensor dispatch(const at::Tensor& x, const ExpertAssignment& assignment);

/// The sum of a token's rows, in the order of its choices: sum over j of x[inverse_permutation[n,
/// j]].
/// \param x  [N k, D]
/// \return [N, D]
at::Tensor combine(const at::Tensor& x, const ExpertAssignment& assignment);

}  // namespace evenkeel::nn
