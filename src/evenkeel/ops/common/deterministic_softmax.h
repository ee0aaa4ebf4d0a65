// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// at::softmax() over the last axis, with SerialLibraries in forward and backward pass.
///
/// LibTorch's backward pass gives one thread other bits than several, unless the length of the axis
/// is a multiple of its vectors.
/// \return a tensor of the shape and dtype of x; differentiable any number of times
at::Tensor deterministic_softmax(const at::Tensor& x);

}  // namespace evenkeel::ops
