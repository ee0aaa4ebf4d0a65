// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// weight[ids[i]] for every i, as at::embedding().
///
/// The gradient of a row sums over the occurrences of its id in order, in float32 (float64 if the
/// weight is float64), and is rounded once. The bits do not depend on the number of threads.
/// at::embedding sums in the dtype of the weight: in bfloat16, a sum of ones stops at 256.
///
/// \param weight  [rows, D]; float32, bfloat16 or float64
/// \param ids     [...], int64, 0 .. rows - 1
/// \param gradient_buffer  [rows, D], float32 if the weight is bfloat16: accumulates the gradient
/// of
///                 weight, which autograd then does not return; empty: autograd returns it
/// \return [..., D]; differentiable once with respect to weight
/// \throws c10::Error if shapes or dtypes do not fit, or an id is out of range
at::Tensor embedding(const at::Tensor& weight, const at::Tensor& ids,
                     const GradientBuffer& gradient_buffer = {});

/// gradient[ids[i]] += dy[i] for every i; each row in the order of i.
/// \param gradient  [rows, D], of the dtype of dy, or float32 if dy is bfloat16; updated in place
/// \param dy        [n, D]
/// \param ids       [n], int64, 0 .. rows - 1
/// \throws c10::Error if shapes, dtypes or devices do not fit, or, on the CPU, an id is out of
/// range;
///         on CUDA, such an id is skipped, since embedding() has stopped at it
void add_embedding_gradient(const at::Tensor& gradient, const at::Tensor& dy,
                            const at::Tensor& ids);

}  // namespace evenkeel::ops
