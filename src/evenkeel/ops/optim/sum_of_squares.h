// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace evenkeel::ops {

/// The sum of squares of all values of x, in float64: blocks of fixed size, then a fixed binary
/// tree. The bits do not depend on the number of threads.
///
/// The result is finite if and only if all values are finite. Exception: squares of float64 values
/// above 1e154 overflow.
///
/// \param x  any shape; float32, bfloat16 or float64; an empty x gives 0
double sum_of_squares(const at::Tensor& x);

/// sum_of_squares() of several tensors, with one copy from a GPU.
std::vector<double> sums_of_squares(const std::vector<at::Tensor>& all);

}  // namespace evenkeel::ops
