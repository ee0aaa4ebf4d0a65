// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace evenkeel::ops {

/// The RMS norm of q, k or v, applied to each head. The gain [D] is shared by all heads.
struct HeadNorm {
  std::optional<at::Tensor> gain;  // nullopt: no norm
  double epsilon = 1e-5;
};

/// QKV-Norm and rotary embedding in one pass over memory, between the QKV projection and the
/// scores.
///
///   q_h = R_t(gain_q * x / sqrt(mean(x^2) + epsilon)),  x = head h of q at position t
///   k_h = R_t(gain_k * x / sqrt(mean(x^2) + epsilon))
///   v_h =     gain_v * x / sqrt(mean(x^2) + epsilon)
///
/// Each of the three norms is optional; without a norm the fraction is x. Row statistics are those
/// of rms_norm(). Results are rounded once.
///
/// \param qkv      [B, T, (heads + 2 * kv_heads) * D]: all heads of q,
///                 then of k, then of v; float32, bfloat16 or float64, on the CPU or CUDA
/// \param cos_sin  [T, 2, D / 2]: cosine and sine of the angle of each pair
///                 at each position; float64 if qkv is float64, else float32
/// \return q [B, T, heads, D], k and v [B, T, kv_heads, D]; differentiable once with respect to qkv
///         and the gains
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source arXiv:2503.04598, eq. 5 (QKV-Norm); Su et al. 2021, arXiv:2104.09864, eq. 34
std::tuple<at::Tensor, at::Tensor, at::Tensor> qkv_norm_rope(
    const at::Tensor& qkv, const at::Tensor& cos_sin, std::int64_t heads, std::int64_t kv_heads,
    const HeadNorm& q, const HeadNorm& k, const HeadNorm& v);

}  // namespace evenkeel::ops
