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
  double z_loss = 0;    // c of the z-loss
};

/// What a row adds to the loss, cross_entropy + c * squared_lse, in double; zeros for an ignored
/// row.
struct RowLoss {
  double cross_entropy = 0;  // -ln softmax(z)[target]
  double squared_lse = 0;    // lse^2, lse = ln sum_i e^(z_i)
};

/// The loss of a row.
///
/// \tparam T  double, float or Bf16; exponentials are in float32 (float64 for double), their sum in
///            double; linear_cross_entropy_avx512.h
/// \param with_gradient  true: overwrites the logits with the gradient with respect to them,
///                       scale * (1 - (z / cap)^2) * ((1 + 2 c lse) softmax(z) - onehot(target)),
///                       or zeros
template <typename T>
RowLoss cross_entropy_row(const LogitsRow<T>& row, bool with_gradient);

}  // namespace evenkeel::kernels::cpu
