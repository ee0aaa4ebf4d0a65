// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace evenkeel::ops {

/// The k experts of each of N tokens, and the order of their N k rows when sorted by expert. No
/// token is dropped and there is no padding.
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

/// The k largest scores of each token. Of equal scores, and of those that are not finite, the lower
/// index wins. No gradient.
/// \param scores  [N, E], float32 or float64, on the CPU
/// \param k       1 to E
/// \throws c10::Error if scores are no such matrix, or k is out of range
ExpertAssignment expert_assignment(const at::Tensor& scores, std::int64_t k);

}  // namespace evenkeel::ops
