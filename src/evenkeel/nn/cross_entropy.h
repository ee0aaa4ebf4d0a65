// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::nn {

/// Sum over rows of -ln softmax(logits)[target]; rows whose target is negative do not count.
///
/// The gradient softmax(logits) - onehot(target) is written over the logits: one buffer of
/// [rows, vocabulary] instead of four. So the backward pass can run once only.
///
/// \param logits   [rows, vocabulary]; float32 or float64
/// \param targets  [rows], int64
/// \return a scalar of logits' dtype; the rows are summed in double in a fixed order
at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace evenkeel::nn
