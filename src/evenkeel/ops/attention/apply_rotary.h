// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// Rotary position embedding (RoPE): rotates the pair (a, b) = (x_j, x_{j + D/2}) of every head
/// into
///
///   (a cos - b sin, b cos + a sin)
///
/// The backward pass applies the inverse rotation and needs cos_sin only.
///
/// \param x        [B, T, heads, D]; float32, bfloat16 (rotated in float32) or float64
/// \param cos_sin  [T, 2, D / 2]: cosine, then sine, of the angle of each pair at each position;
///                 float64 if x is float64, else float32
/// \return [B, T, heads, D], of the dtype of x; differentiable once with respect to x
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Su et al. 2021, arXiv:2104.09864, eq. 34, with the halves of a head as pairs
at::Tensor apply_rotary(const at::Tensor& x, const at::Tensor& cos_sin);

}  // namespace evenkeel::ops
