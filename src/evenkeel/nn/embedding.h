// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"

namespace evenkeel::nn {

/// Row ids[i] of `weight` for every i.
///
/// The gradient of a row is the sum over the places of its id, in their order, in float32 (float64
/// beside float64 rows), rounded once: the same bits for any number of threads. at::embedding adds
/// in the dtype of the rows, where a bfloat16 sum of ones stays at 256.
///
/// \param weight  [rows, D], float32, bfloat16 or float64, on the CPU. If it has a sum
///                of gradients, its rows of these ids are added to, and nothing is rounded to
///                bfloat16
/// \param ids     [...], int64, 0 .. rows - 1
/// \return [..., D]; differentiable once with respect to weight
at::Tensor embedding(const Weight& weight, const at::Tensor& ids);

}  // namespace evenkeel::nn
