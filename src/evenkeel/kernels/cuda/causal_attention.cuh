// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/portable/causal_attention.h; conventions as in rms_norm.cuh. Scores
/// are never materialized, sums have one order, and there are no atomics: equal inputs give equal
/// bits. Query i has position i + keys - queries.
///
/// Products of float32 and float64 are plain; those of bfloat16 use the tensor cores, for which
/// probabilities and their gradients are rounded to bfloat16.
/// \source Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691
namespace evenkeel::kernels::cuda {

constexpr std::int64_t kMaxHeadWidth = 256;  // a larger width gives cudaErrorInvalidValue

/// The sizes and options of one attention.
struct AttentionSizes {
  std::int64_t batch, queries, keys, heads, kv_heads, width;
  double scale;
  double softcap;  // 0: none
};

/// A tensor [B, T, heads, D] with the strides of B, T and heads; values of a head are contiguous.
template <typename T>
struct HeadTensor {
  T* data;
  std::int64_t batch, position, head;

  /// The row of position 0 of a head.
  __host__ __device__ T* at(std::int64_t b, std::int64_t h) const {
    return data + b * batch + h * head;
  }
};

/// The tensors of the forward pass.
template <typename T>
struct AttentionForward {
  HeadTensor<const T> q, k, v;
  HeadTensor<T> y;                      // written
  OpMathType<T>* lse;                   // [B, heads, queries], written: the log-sum-exp of scores
  const std::int32_t* document_starts;  // [B, queries], non-decreasing, or null: 0
};
template <typename T>
cudaError_t causal_attention(const AttentionForward<T>& args, const AttentionSizes& sizes,
                             cudaStream_t stream);

/// The number of tiles of largest_scores().
template <typename T>
std::int64_t score_tiles(const AttentionSizes& sizes);

/// The largest scale * q . k of each tile of queries over the keys that they see, without NaN.
/// \param largest  [B, heads, score_tiles<T>(sizes)], written
template <typename T>
cudaError_t largest_scores(const AttentionForward<T>& args, const AttentionSizes& sizes,
                           OpMathType<T>* largest, cudaStream_t stream);

/// The tensors of the backward pass.
template <typename T>
struct AttentionBackward {
  HeadTensor<const T> dy, q, k, v, y;
  const OpMathType<T>* lse;             // [B, heads, queries]
  OpMathType<T>* delta;                 // [B, heads, queries], written: the sums of dy * y
  HeadTensor<T> dq, dk, dv;             // written
  const std::int32_t* document_starts;  // [B, queries], or null
};

/// One kernel for delta, one over tiles of queries for dq, one over tiles of keys for dk and dv,
/// which adds the query heads of a key head in order.
template <typename T>
cudaError_t causal_attention_backward(const AttentionBackward<T>& args, const AttentionSizes& sizes,
                                      cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
