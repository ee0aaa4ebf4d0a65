// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace evenkeel::ops {

/// The norm of one of q, k and v; gain [width of a head], shared by its heads.
struct HeadNorm {
  std::optional<at::Tensor> gain;  // none: not normed
  double epsilon = 1e-5;
};

/// Everything between the product of attention and its scores, in one pass over memory: the norm
/// of each head of q, k and v, and the rotary embedding of q and k.
///
///   q_h = R_t(gain_q * x / sqrt(mean(x^2) + epsilon)), k_h the same, v_h without R_t
///
/// Any of the three norms may be missing; without all of them it is the rotary embedding. Row
/// statistics as in rms_norm(); everything is rounded once.
///
/// \param qkv      (`products` of the schema) [B, T, (heads + 2 * kv_heads) * D]: all heads of q,
///                 then of k, then of v; float32, bfloat16 or float64, on the CPU or CUDA
/// \param cos_sin  (`turn` of the schema) [T, 2, D / 2]: cosine and sine of the angle of each pair
///                 at each position; float64 beside float64 products, else float32
/// \return q [B, T, heads, D], k and v [B, T, kv_heads, D]; differentiable once with respect to the
///         products and the gains
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source arXiv:2503.04598, eq. 5 (QKV-Norm); Su et al. 2021, arXiv:2104.09864, eq. 34
std::tuple<at::Tensor, at::Tensor, at::Tensor> qkv_norm_rope(
    const at::Tensor& qkv, const at::Tensor& cos_sin, std::int64_t heads, std::int64_t kv_heads,
    const HeadNorm& q, const HeadNorm& k, const HeadNorm& v);

}  // namespace evenkeel::ops
