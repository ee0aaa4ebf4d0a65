// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// The sum of the squares of all values of `x`, in double: blocks of fixed size, then a fixed
/// binary tree, so that it has the same bits for any number of threads.
///
/// A NaN or an infinity anywhere in x makes the result NaN or infinite. For float32 and bfloat16
/// nothing else does: their squares cannot overflow a double. Values of float64 beyond 1e154 can.
///
/// \param x  any shape; float32, bfloat16 or float64; an empty x gives 0
double sum_of_squares(const at::Tensor& x);

}  // namespace evenkeel::ops
