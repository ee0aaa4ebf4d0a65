// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// An RMS norm whose gain depends on the row, in double; squares of doubles beyond 1e154 overflow:
///   y = (alpha tanh(x . beta) + gain) x / sqrt(mean(x^2) + epsilon) + bias
/// \source arXiv:2510.22777 (SeeDNorm)
template <typename T>
struct SeedNormParameters {
  const OpMathType<T>* alpha;
  const OpMathType<T>* beta;
  const OpMathType<T>* gain;
  const OpMathType<T>* bias;  // of the forward pass only
  double epsilon;
};

/// \tparam T  double, float or Bf16
template <typename T>
void seed_norm_row(const T* x, const SeedNormParameters<T>& parameters, T* y, std::int64_t width);

/// One row of the backward pass. With t = tanh(x . beta), x_hat = x rho, u = dy (alpha t + gain)
/// and s = (1 - t^2) sum(dy alpha x_hat):
///   dx = rho (u - x_hat mean(u x_hat)) + s beta,
///   dalpha += t dy x_hat, dbeta += s x, dgain += dy x_hat, dbias += dy
template <typename T>
struct SeedNormGradient {
  const T* dy;
  const T* x;
  T* dx;           // written
  double* dalpha;  // [width], added to, as are dbeta, dgain and dbias
  double* dbeta;
  double* dgain;
  double* dbias;  // null: not required
};
template <typename T>
void seed_norm_row_backward(const SeedNormGradient<T>& row, const SeedNormParameters<T>& parameters,
                            std::int64_t width);

}  // namespace evenkeel::kernels::cpu
