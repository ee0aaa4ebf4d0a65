// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// Gain and bias per feature: the last step of most norms, and learned factors of the residual
/// stream.
///
///   y = gain * x + bias
///
/// Computed in float64 and rounded once, to the dtype of x. The gradients of gain and bias are
/// summed over rows in the order of kernels/reduction_order.h, so their bits do not depend on the
/// number of threads.
///
/// \param x           [..., D], float32, bfloat16 or float64, on CPU or CUDA
/// \param gain, bias  [D], or [G] with one value for each D / G features, as [1] for all and
///                    [heads]; float64 if x is float64, else float32; nullopt: ones, zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to all three
/// \throws c10::Error if shapes, dtypes or devices do not fit
at::Tensor affine(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                  const std::optional<at::Tensor>& bias = std::nullopt);

}  // namespace evenkeel::ops
