// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// How logits are computed from the product x w^T.
struct LogitsOptions {
  std::int64_t vocabulary = 0;    // rows of the weight that are scored; others are padding
  double scale = 1;               // of the logits
  std::optional<double> softcap;  // then c * tanh(logits / c)
};

/// The output projection and the cross-entropy loss in one operator (Cut Cross-Entropy, Liger's
/// fused linear cross-entropy):
///
///   sum over tokens of -ln softmax(cap(scale * x w^T))[target]
///
/// Tokens are processed in chunks, and each chunk computes its gradient with its loss: extra memory
/// is that of one chunk for any number of tokens. Logits are rounded to
/// the dtype of x; exponentials are in float32 (float64 beside float64), sums in double (of
/// bfloat16 on processors with AMX 1,024 terms in float32) and in a fixed order. Tokens whose
/// target is negative do not count.
///
/// \param x        [n, D], float32, bfloat16 or float64
/// \param weight   [rows, D], of the dtype of x, rows >= vocabulary
/// \param targets  [n], int64, below the vocabulary
/// \param gradient_buffer  [rows, D], float32 beside bfloat16: accumulates the gradient of
///                 weight, of which autograd then sees none; none: autograd's
/// \return a scalar, float64 beside float64 and else float32; differentiable once with respect to x
///         and weight, at the cost of what requires a gradient
/// \throws c10::Error if shapes, dtypes or devices do not fit or the cap is not above 0; in a
///         backward pass that is to be differentiated again
at::Tensor linear_cross_entropy(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& targets, const LogitsOptions& options,
                                const GradientBuffer& gradient_buffer = {});

}  // namespace evenkeel::ops
