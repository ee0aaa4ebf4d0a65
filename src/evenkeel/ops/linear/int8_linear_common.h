// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/linear/int8_linear.h"

/// Shared by the implementations of int8_linear().
namespace evenkeel::ops {

/// Checks the arguments of int8_linear().
/// \return an uninitialized result, [..., rows]
/// \throws c10::Error if shapes, dtypes or devices do not fit
at::Tensor empty_int8_result(const at::Tensor& x, const at::Tensor& values,
                             const at::Tensor& scale);

/// y = x W^T by products of dequantized blocks of W.
/// \param y  [n, rows]; written
/// \param x  [n, columns]
void int8_linear_in_blocks(const at::Tensor& y, const at::Tensor& x, const Int8Weight& w);

}  // namespace evenkeel::ops
