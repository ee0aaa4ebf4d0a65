// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

/// Causal attention of bfloat16 tensors on CUDA by the libraries that LibTorch carries; for
/// causal_attention_cuda.cpp only. Operands as those of causal_attention(), without softcap and
/// documents, and not empty. Attention probabilities are rounded to bfloat16.
namespace evenkeel::ops {

/// The operands of the backward pass.
struct AttentionResults {
  at::Tensor dy, q, k, v, y;
  at::Tensor lse;  // [B, heads, T], float32
};

using QueryKeyValueGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  // dq, dk, dv

/// x [B, T, heads, D] as the libraries load it, 16 bytes at once: contiguous, at an address that is
/// a multiple of 16, and D padded by zeros to a multiple of 8.
at::Tensor library_operand(const at::Tensor& x);

/// x as the forward pass of FlashAttention loads it: x itself where only the strides of the other
/// dimensions differ from library_operand(), and are multiples of 8, as in a cache of keys.
at::Tensor flash_operand(const at::Tensor& x);

/// True if FlashAttention takes heads like those of q.
bool is_taken_by_flash(const at::Tensor& q);

/// True if is_taken_by_flash(), and cuDNN takes q and k, too. Its mask is aligned to the first key,
/// so there must be as many queries as keys. It compiles a plan for each shape, which pays for the
/// lengths of training: multiples of 128.
bool is_taken_by_cudnn(const at::Tensor& q, const at::Tensor& k);

/// FlashAttention 2.
/// \return y [B, T, heads, D], contiguous, and lse [B, heads, T], float32
/// \source Dao 2023, arXiv:2307.08691
std::tuple<at::Tensor, at::Tensor> flash_attention(const at::Tensor& q, const at::Tensor& k,
                                                   const at::Tensor& v, double scale);

/// \param is_ordered  true: dq is a sum in a fixed order. The process's switch for deterministic
///                    algorithms is on during the call, so that no other thread should run
///                    operators without one.
QueryKeyValueGradients flash_attention_backward(const AttentionResults& in, double scale,
                                                bool is_ordered);

/// As flash_attention(), by cuDNN.
std::tuple<at::Tensor, at::Tensor> cudnn_attention(const at::Tensor& q, const at::Tensor& k,
                                                   const at::Tensor& v, double scale);

/// The order of the sums of dq is not fixed.
QueryKeyValueGradients cudnn_attention_backward(const AttentionResults& in, double scale);

}  // namespace evenkeel::ops
