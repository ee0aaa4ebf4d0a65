// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace evenkeel::ops {

/// The k experts of each of N tokens, and the order of their N k rows when sorted by expert. No
/// token is dropped and there is no padding.
struct ExpertAssignment {
  at::Tensor top_experts;          // [N, k], int64: experts of a token, the largest score first
  at::Tensor permutation;          // [N k], int64: token * k + j of each sorted row
  at::Tensor token_of_row;         // [N k], int64: token of each sorted row
  at::Tensor inverse_permutation;  // [N, k], int64: sorted row of (token, j)
  at::Tensor offsets;  // [E + 1], int64: first row of each expert, whose rows are ordered by token
  std::int64_t tokens() const { return top_experts.size(0); }
  std::int64_t top_k() const { return top_experts.size(1); }
  std::int64_t experts() const { return offsets.size(0) - 1; }
  /// The number of rows of each expert. [E], int64
  at::Tensor tokens_per_expert() const;
};

/// Assigns each token to the experts with its k largest scores. Ties, and scores that are not
/// finite, are ordered by index. Not differentiable.
/// \param scores  [N, E], float32 or float64
/// \param k       1 to E
/// \throws c10::Error if shape or dtype of scores do not fit, or k is out of range
ExpertAssignment expert_assignment(const at::Tensor& scores, std::int64_t k);

}  // namespace evenkeel::ops
