// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// Causal softmax attention (FlashAttention). A query attends to positions up to its own, and with
/// `document_starts` only to positions of its document. Scores are never materialized.
///
///   y_i = sum_j softmax_j(cap(scale * q_i . k_j)) v_j,  cap(s) = softcap * tanh(s / softcap)
///
/// Scores, softmax and sums are float32 (float64 if q is float64). Results are rounded once.
/// bfloat16 on a CPU with AMX or AVX-512 BF16: attention probabilities and their gradients are
/// rounded to bfloat16 before the GEMMs. The backward pass recomputes scores from q, k and the
/// saved log-sum-exp, and uses the rounded y. The order of all sums does not depend on the number
/// of threads.
///
/// CUDA: the width of a head is at most 256. bfloat16 without softcap and documents uses cuDNN and
/// FlashAttention, else kernels of our own; either rounds probabilities and their gradients to
/// bfloat16. Equal inputs give equal bits. Values of document_starts are not checked.
///
/// \param q  [B, T, heads, D]: the last T of the S positions; head i reads key head
///           i div (heads / kv_heads)
/// \param k  [B, S, kv_heads, D], S >= T
/// \param v  [B, S, kv_heads, D]; all float32, bfloat16 or float64, on the CPU or
///           CUDA
/// \param document_starts  [B, T], int32: the first position that a query
///           attends to; at most its own position, non-decreasing along T; nullopt: 0
/// \return y, [B, T, heads, D]; differentiable once with respect to q, k and v
/// \throws c10::Error if shapes, dtypes or document_starts do not fit, softcap is not positive, or
///         scale is not finite
/// \source Vaswani et al. 2017, arXiv:1706.03762, eq. 1; Dao et al. 2022, arXiv:2205.14135
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::optional<double> softcap = {},
                            const std::optional<at::Tensor>& document_starts = {});

/// The maximum of scale * q_i . k_j per head over all visible pairs, before soft-capping. NaN
/// scores are ignored. The cost is that of one attention forward pass. Not differentiable.
/// \param q, k, document_starts  as above; on CUDA B and T are at least 1
/// \return [heads], float64; computed in float32 unless q is float64; -inf without visible pairs
/// \throws c10::Error as above
at::Tensor largest_scores(const at::Tensor& q, const at::Tensor& k, double scale,
                          const std::optional<at::Tensor>& document_starts = {});

/// Checks the inputs of causal_attention().
/// \throws c10::Error, which begins with [causal_attention], for invalid shapes, dtypes or devices
void check_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::optional<at::Tensor>& document_starts);

}  // namespace evenkeel::ops
