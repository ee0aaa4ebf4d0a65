// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// DyT and Derf, element-wise bounded functions in place of a norm: y = gain * f(alpha x + shift) +
/// bias, in double; bfloat16 in float32 where the processor has AVX-512 bfloat16.
enum class BoundedKind { tanh, erf };

struct BoundedParameters {
  BoundedKind function;
  double alpha, shift;
};

/// \tparam T          double, float or Bf16
/// \param gain, bias  width values each
/// \source Zhu et al. 2025, arXiv:2503.10622 (tanh); arXiv:2512.10938 (erf)
template <typename T>
void bounded_row(const T* x, const OpMathType<T>* gain, const OpMathType<T>* bias, T* y,
                 std::int64_t width, const BoundedParameters& parameters);

/// One row of the backward pass; with g = dy * gain and f' = f'(alpha x + shift):
///   dx = alpha g f', dalpha += sum(g f' x), dshift += sum(g f'), dgain += dy f, dbias += dy
template <typename T>
struct BoundedGradient {
  const T* dy;
  const T* x;
  const OpMathType<T>* gain;
  T* dx;           // written
  double* dalpha;  // one value, added to
  double* dshift;  // the same
  double* dgain;   // [width], added to
  double* dbias;   // the same; null: not required
};
template <typename T>
void bounded_row_backward(const BoundedGradient<T>& row, std::int64_t width,
                          const BoundedParameters& parameters);

}  // namespace evenkeel::kernels::cpu
