// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/attention/causal_attention_library.h"

/// The deterministic backward pass of cuDNN, which LibTorch does not offer; for
/// causal_attention_cuda.cpp only. docs/decisions/0026-attention-gradients-by-cudnn.md
namespace evenkeel::ops {

/// True if cuDNN has such a pass for these operands, which is_taken_by_cudnn() takes, on a GPU of
/// compute capability 9 or 10. The first call for shapes and a scale compiles a plan. False in a
/// build without the headers of cudnn_frontend (EK_CUDNN_FRONTEND).
/// \param q  [B, T, heads, D], bfloat16, not empty
/// \param k  [B, T, kv_heads, D]
bool takes_ordered_cudnn(const at::Tensor& q, const at::Tensor& k, double scale);

/// Gradients of q, k and v; every sum has a fixed order. The batch is computed in slices, whose
/// size depends on the shapes alone, so that the workspace is below 2.25 GiB: cuDNN stores the
/// gradients of all scores, 2 B heads T^2 bytes. What cuDNN refuses is computed by
/// flash_attention_backward(), ordered.
/// \return dq, dk and dv, contiguous
/// \source https://docs.nvidia.com/deeplearning/cudnn, "Scaled Dot Product Attention Backward"
QueryKeyValueGradients ordered_cudnn_backward(const AttentionResults& in, double scale);

}  // namespace evenkeel::ops
