// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// The kernel of kernels/cpu/linear_cross_entropy.h, one block of threads a row; conventions as in
/// rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// z = cap * tanh(scale * logits / cap), or scale * logits where cap is 0.
template <typename T>
struct LogitsRows {
  T* logits;                    // [rows, stride], of which the first `width` values of each row are
                                // read; with_gradient: the gradient is written over them
  const std::int64_t* targets;  // [rows]; negative: the row does not count; width or more: its loss
                                // is NaN
  double* losses;               // [2, rows], written: -ln softmax(z)[target], and the square of
                                // lse = ln sum_i e^(z_i); zeros where the row does not count
  std::int64_t stride;
  double scale, cap;
  double z_loss;  // c: the loss is losses[0] + c * losses[1]
  bool with_gradient;
};

template <typename T>
cudaError_t cross_entropy_rows(const LogitsRows<T>& args, std::int64_t rows, std::int64_t width,
                               cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
