// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// One row of logits x, and the function before the softmax: z = cap * tanh(scale * x / cap), or
/// z = scale * x without a cap.
template <typename T>
struct LogitsRow {
  T* logits;            // [width]
  std::int64_t width;   // the vocabulary
  std::int64_t target;  // negative: the row is ignored
  double scale, cap;    // cap 0: none
};

/// -ln softmax(z)[target], in double; 0 for an ignored row.
///
/// \tparam T  double, float or Bf16; exponentials are in float32 (float64 for double), their sum in
///            double; linear_cross_entropy_avx512.h
/// \param with_gradient  true: overwrites the logits with the gradient with respect to them,
///                       scale * (1 - (z / cap)^2) * (softmax(z) - onehot(target)), or zeros
template <typename T>
double cross_entropy_row(const LogitsRow<T>& row, bool with_gradient);

}  // namespace evenkeel::kernels::cpu
