// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// The computation of logits from x w^T, and of the loss from logits.
struct LogitsOptions {
  std::int64_t vocabulary = 0;    // rows of the weight with a logit; further rows are padding
  double scale = 1;               // logits = scale * x w^T
  std::optional<double> softcap;  // c: logits become c * tanh(logits / c); nullopt: no cap
  double z_loss = 0;              // coefficient of the z-loss, >= 0
};

/// The loss of linear_cross_entropy(), and what it consists of. All are scalars of one dtype.
struct LossSums {
  at::Tensor total;          // cross_entropy + z_loss * squared_lse, differentiable
  at::Tensor cross_entropy;  // sum of -ln softmax(logits)[target], nats; without a gradient
  at::Tensor squared_lse;    // sum of lse^2; without a gradient
};

/// The output projection and the cross-entropy loss in one operator (Cut Cross-Entropy, Liger's
/// fused linear cross-entropy), with the z-loss:
///
///   sum over tokens of -ln softmax(logits)[target] + z_loss * lse^2
///   logits = cap(scale * x w^T),   lse = ln sum over the vocabulary of e^logits
///
/// Tokens are processed in chunks (loss_chunk_tokens()). A chunk computes loss and gradient
/// together, so the extra memory is one chunk of logits for any number of tokens. Logits are
/// rounded to the dtype of x. Exponentials are float32 (float64 if x is float64). Sums are float64
/// in a fixed order; bfloat16 on a CPU with AMX: float32 over 1,024 terms. Targets < 0 are ignored.
///
/// \param x        [n, D], float32, bfloat16 or float64
/// \param weight   [rows, D], of the dtype of x, rows >= vocabulary
/// \param targets  [n], int64, below the vocabulary
/// \param gradient_buffer  [rows, D], float32 if x is bfloat16: accumulates the gradient of weight,
///                 which autograd then does not return; empty: autograd returns it
/// \return scalars; float64 if x is float64, else float32. The total is differentiable once with
///         respect to x and weight; gradients that are not required are not computed
/// \throws c10::Error if shapes, dtypes or devices do not fit, softcap is not above 0, z_loss is
///         negative or not finite, or on double backward
/// \source z-loss: PaLM, arXiv:2204.02311, section 5
LossSums linear_cross_entropy_sums(const at::Tensor& x, const at::Tensor& weight,
                                   const at::Tensor& targets, const LogitsOptions& options,
                                   const GradientBuffer& gradient_buffer = {});

/// The total of linear_cross_entropy_sums().
inline at::Tensor linear_cross_entropy(const at::Tensor& x, const at::Tensor& weight,
                                       const at::Tensor& targets, const LogitsOptions& options,
                                       const GradientBuffer& gradient_buffer = {}) {
  return linear_cross_entropy_sums(x, weight, targets, options, gradient_buffer).total;
}

}  // namespace evenkeel::ops
