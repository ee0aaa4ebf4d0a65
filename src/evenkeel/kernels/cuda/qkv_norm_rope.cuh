// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/qkv_norm_rope.h, one warp a head; conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// q, k or v of all tokens.
template <typename T>
struct Heads {
  const T* x;                 // [tokens, stride]: its heads stand in the first count * width values
  const OpMathType<T>* gain;  // [width]; null: no norm
  const OpMathType<T>* cos_sin;  // [positions, 2, width / 2]; null: no rotation
  double* rstd;                  // [tokens, rstd_stride]; written by the forward pass
  std::int64_t tokens, positions, stride, rstd_stride, count, width;
};

/// y [tokens, count, width] = R(gain * x * rstd), rstd = 1 / sqrt(mean(x^2) + epsilon).
template <typename T>
cudaError_t norm_rope(const Heads<T>& args, T* y, double epsilon, cudaStream_t stream);

template <typename T>
struct HeadsGradient {
  const T* dy;    // [tokens, count, width]
  T* dx;          // [tokens, stride], as x; written
  double* dgain;  // [blocks of kBlockRows tokens, dgain_stride], written where there is a norm
  std::int64_t dgain_stride;
};

template <typename T>
cudaError_t norm_rope_backward(const Heads<T>& args, const HeadsGradient<T>& gradients,
                               cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
