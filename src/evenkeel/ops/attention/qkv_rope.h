// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace evenkeel::ops {

/// qkv_norm_rope() without norms, of q, k and v in three tensors: what norms of other kinds have
/// made of the columns of the QKV projection. Concatenating them first would take as long.
///
/// \param q        [B, T, heads * D], float32, bfloat16 or float64, on the CPU or CUDA
/// \param k, v     [B, T, kv_heads * D] of the dtype of q
/// \param cos_sin  [T, 2, D / 2]: as for qkv_norm_rope()
/// \return rotated q [B, T, heads, D], rotated k and v [B, T, kv_heads, D]; differentiable once
/// with
///         respect to q, k and v
/// \throws c10::Error if shapes, dtypes or devices do not fit
std::tuple<at::Tensor, at::Tensor, at::Tensor> qkv_rope(const at::Tensor& q, const at::Tensor& k,
                                                        const at::Tensor& v,
                                                        const at::Tensor& cos_sin);

}  // namespace evenkeel::ops
