// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/swiglu.h"

#include <cmath>
#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/swiglu_avx512.h"
#include "evenkeel/kernels/cpu/common/exp.h"

namespace evenkeel::kernels::cpu {

namespace {

/// 1 / (1 + e^-z) and 1 minus that, both without cancellation.
template <typename F>
struct Sigmoid {
  F value, complement;
};

template <typename F>
[[gnu::always_inline]] inline Sigmoid<F> sigmoid(F z) {
  const F e = exp_nonpositive(-std::abs(z));
  const F large = 1 / (1 + e);
  const F small = e * large;
  return {z < 0 ? small : large, z < 0 ? large : small};
}

template <bool kWritesY, typename T>
[[gnu::always_inline]] inline void backward(const SwigluGradient<T>& row, std::int64_t width) {
  using F = OpMathType<T>;
  const T* const dy = row.dy;  // perhaps y
  const T* __restrict const up = row.up;
  const T* __restrict const gate = row.gate;
  T* __restrict const dup = row.dup;
  T* __restrict const dgate = row.dgate;
  T* const y = row.y;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F z = static_cast<F>(load(gate + i));
    const F upstream = static_cast<F>(load(dy + i));
    const F factor = static_cast<F>(load(up + i));
    const auto s = sigmoid(z);
    const F gated = z * s.value;
    store(dup + i, upstream * gated);
    store(dgate + i, upstream * factor * (s.value * (1 + z * s.complement)));
    if constexpr (kWritesY) store(y + i, factor * gated);
  }
}

}  // namespace

template <typename T>
EK_CLONES void swiglu_row(const T* __restrict up, const T* __restrict gate, T* __restrict y,
                          std::int64_t width) {
  using F = OpMathType<T>;
  if constexpr (std::is_same_v<T, Bf16>) {
    if (swiglu_row_avx512(up, gate, y, width)) return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F z = static_cast<F>(load(gate + i));
    store(y + i, static_cast<F>(load(up + i)) * (z * sigmoid(z).value));
  }
}

template <typename T>
EK_CLONES void swiglu_row_backward(const SwigluGradient<T>& row, std::int64_t width) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (swiglu_row_backward_avx512(row, width)) return;
  }
  if (row.y == nullptr) return backward<false>(row, width);
  backward<true>(row, width);
}

#define EK_INSTANTIATE(T)                                         \
  template void swiglu_row(const T*, const T*, T*, std::int64_t); \
  template void swiglu_row_backward(const SwigluGradient<T>&, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
