// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/linear_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "evenkeel/kernels/cpu/avx512/linear_cross_entropy_avx512.h"
#include "evenkeel/kernels/cpu/common/exp.h"
#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/portable/bounded_functions.h"

namespace evenkeel::kernels::cpu {

namespace {

/// \param z  index -> value before the softmax
/// \param slope  index -> dz / dlogit
template <typename T, typename Z, typename Slope>
[[gnu::always_inline]] inline RowLoss softmax_row(const LogitsRow<T>& row, bool with_gradient,
                                                  const Z& z, const Slope& slope) {
  using F = OpMathType<T>;
  T* const logits = row.logits;
  const auto width = row.width;
  const F max_logit = max_over(width, -std::numeric_limits<F>::infinity(), z);
  const double sum = sum_over(width, [=](std::int64_t i) {
    return static_cast<double>(exp_nonpositive(z(i) - max_logit));
  });
  const double lse = std::log(sum) + static_cast<double>(max_logit);
  const RowLoss loss = {lse - static_cast<double>(z(row.target)), lse * lse};
  if (!with_gradient) return loss;

  const F inverse_sum = static_cast<F>((1 + 2 * row.z_loss * lse) / sum);
  const F target_slope = slope(row.target);
  const F at_target = (exp_nonpositive(z(row.target) - max_logit) * inverse_sum - 1) * target_slope;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(logits + i, exp_nonpositive(z(i) - max_logit) * inverse_sum * slope(i));
  }
  store(logits + row.target, at_target);
  return loss;
}

}  // namespace

template <typename T>
EK_CLONES RowLoss cross_entropy_row(const LogitsRow<T>& row, bool with_gradient) {
  using F = OpMathType<T>;
  const T* const logits = row.logits;
  if (row.target < 0) {
    if (with_gradient) std::fill(row.logits, row.logits + row.width, T{});
    return {};
  }
  if constexpr (std::is_same_v<T, Bf16>) {
    if (const auto loss = cross_entropy_row_avx512(row, with_gradient)) return *loss;
  }
  const F scale = static_cast<F>(row.scale);
  if (row.cap == 0) {
    return softmax_row(
        row, with_gradient,
        [=](std::int64_t i) { return scale * static_cast<F>(load(logits + i)); },
        [=](std::int64_t) { return scale; });
  }
  // Each tanh once, in a loop that becomes a vector loop; the softmax reads it four times.
  static thread_local std::vector<F> tanh_values;
  tanh_values.resize(static_cast<std::size_t>(row.width));
  F* const tanhs = tanh_values.data();
  const F cap = static_cast<F>(row.cap);
  const auto width = row.width;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F argument = scale * static_cast<F>(load(logits + i)) / cap;
    tanhs[i] = static_cast<F>(tanh_with_slope(static_cast<double>(argument)).value);
  }
  return softmax_row(
      row, with_gradient, [=](std::int64_t i) { return cap * tanhs[i]; },
      [=](std::int64_t i) { return scale * (1 - tanhs[i] * tanhs[i]); });
}

#define EK_INSTANTIATE(T) template RowLoss cross_entropy_row(const LogitsRow<T>&, bool);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
