// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// A gain and a bias per feature of every row: the last step of most norms, and the learned factors
/// of the residual stream.
///
///   y = gain * x + bias
///
/// Computed in double and rounded once, to the dtype of x. The gradients of gain and bias are
/// summed over the rows in the order of kernels/reduction_order.h, so that they have the same bits
/// for any number of threads.
///
/// \param x           [..., D], float32, bfloat16 or float64, on CPU or CUDA
/// \param gain, bias  [D], or [1] for one value of all features; float64 beside float64 rows and
///                    else float32; absent: ones, zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to all three
/// \throws c10::Error if shapes, dtypes or devices do not fit
at::Tensor affine(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                  const std::optional<at::Tensor>& bias = std::nullopt);

}  // namespace evenkeel::ops
