// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/qkv_norm_rope.h for all tokens; conventions as in rms_norm.cuh. Heads
/// of float and bfloat16 whose halves are multiples of 16 bytes, of at most 32 threads, take part
/// of a warp each; other heads take a slower kernel in double.
namespace evenkeel::kernels::cuda {

/// q, k or v of all tokens.
template <typename T>
struct Heads {
  const OpMathType<T>* gain;     // [width]; null: no norm
  const OpMathType<T>* cos_sin;  // [positions, 2, width / 2]; null: no rotation
  T* y;                          // [tokens, count, width], written by the forward pass
  const T* dy;                   // [tokens, count, width], read by the backward pass
  OpMathType<T>* dgain;          // [partials, width], written by the backward pass; null: no norm
  std::int64_t partials;         // head_partials()
  std::int64_t first, count;     // among the heads of a token
  double epsilon;
};

template <typename T>
struct QkvRows {
  const T* qkv;  // [tokens, heads, width]
  T* dqkv;       // [tokens, heads, width], written by the backward pass
  double* rstd;  // [tokens, heads], written by the forward pass where there is a norm
  std::int64_t tokens, positions, heads, width;
  Heads<T> part[3];  // q, k, v
};

/// y = R(gain * x * rstd), rstd = 1 / sqrt(mean(x^2) + epsilon), for q, k and v.
template <typename T>
cudaError_t qkv_norm_rope(const QkvRows<T>& args, cudaStream_t stream);

/// The gradient of qkv, and partial sums of those of the gains, for row_gradient_total().
template <typename T>
cudaError_t qkv_norm_rope_backward(const QkvRows<T>& args, cudaStream_t stream);

/// The number of partial sums for the gain of `count` of the `heads` of a token. It depends on the
/// multiprocessors of the current device.
template <typename T>
std::int64_t head_partials(std::int64_t tokens, std::int64_t count, std::int64_t heads,
                           std::int64_t width);

}  // namespace evenkeel::kernels::cuda
