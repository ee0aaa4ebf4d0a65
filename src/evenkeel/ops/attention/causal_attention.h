// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// Causal softmax attention (FlashAttention): each query attends to the positions up to its own,
/// and with `document_starts` only to those of its document. Scores are not written to memory.
///
///   y_i = sum_j softmax_j(cap(scale * q_i . k_j)) v_j,  cap(s) = softcap * tanh(s / softcap)
///
/// Scores, softmax and sums are in float32, beside float64 in float64; results are rounded once. On
/// a processor with AMX weights of bfloat16, and their gradients, are rounded to it before
/// products. The backward pass computes the scores again, and takes y as it was rounded. Gradients
/// of keys sum over queries, and over the query heads that read them, in one order for any number
/// of threads.
///
/// \param q  [B, T, heads, D]: the last T of the S positions; head i reads key head
///           i div (heads / kv_heads)
/// \param k  [B, S, kv_heads, D], S >= T
/// \param v  [B, S, kv_heads, D]; all float32, bfloat16 or float64, on the CPU
/// \param document_starts  (`begins` of the schema) [B, T], int32: the first position that a query
///           attends to, at most its own, and never falling along T; none: the first of all
/// \return y, [B, T, heads, D]; differentiable once with respect to q, k and v
/// \throws c10::Error if shapes, dtypes or document_starts do not fit, or a soft cap is not
/// positive
/// \source Vaswani et al. 2017, arXiv:1706.03762, eq. 1; Dao et al. 2022, arXiv:2205.14135
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::optional<double> softcap = {},
                            const std::optional<at::Tensor>& document_starts = {});

/// The largest score of each head, scale * q_i . k_j over what its queries see, without cap; no NaN
/// is. A forward pass of attention finds it, so it takes as long as one. No gradient.
/// \param q, k, document_starts  as above, B and T at least 1
/// \return [heads], float64; of float32 and bfloat16 what it is in float32
/// \throws c10::Error as above
at::Tensor largest_scores(const at::Tensor& q, const at::Tensor& k, double scale,
                          const std::optional<at::Tensor>& document_starts = {});

/// \throws c10::Error, which begins with [causal_attention], unless shapes, dtypes and devices are
///         those of causal_attention()
void check_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::optional<at::Tensor>& document_starts);

}  // namespace evenkeel::ops
