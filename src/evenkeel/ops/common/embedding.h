// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// Row ids[i] of `weight` for every i, as at::embedding().
///
/// The gradient of a row is the sum over the places of its id, in their order, in float32 (float64
/// beside float64 rows), rounded once: the same bits for any number of threads. at::embedding adds
/// in the dtype of the rows, where a bfloat16 sum of ones stays at 256.
///
/// \param weight  [rows, D]; float32, bfloat16 or float64, on the CPU
/// \param ids     [...], int64, 0 .. rows - 1
/// \param gradient_buffer  [rows, D], float32 beside bfloat16: its rows of these ids are added to,
///                 without rounding to bfloat16, and autograd sees no gradient; none: autograd's
/// \return [..., D]; differentiable once with respect to weight
/// \throws c10::Error if shapes or dtypes do not fit, or an id is out of range
at::Tensor embedding(const at::Tensor& weight, const at::Tensor& ids,
                     const GradientBuffer& gradient_buffer = {});

/// gradient[ids[i]] += dy[i] for every i, each row in the order of its places.
/// \param gradient  [rows, D], of the dtype of dy, or float32 beside bfloat16; changed
/// \param dy        [n, D]
/// \param ids       [n], int64, 0 .. rows - 1
/// \throws c10::Error if shapes, dtypes or devices do not fit, or an id is out of range
void add_embedding_gradient(const at::Tensor& gradient, const at::Tensor& dy,
                            const at::Tensor& ids);

}  // namespace evenkeel::ops
