// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/swiglu.h"

#include <type_traits>

#include "evenkeel/kernels/cpu/exp.h"
#include "evenkeel/kernels/cpu/swiglu_lanes.h"

namespace evenkeel::kernels::cpu {

namespace {

/// 1 / (1 + e^-z) and 1 minus that, both without cancellation.
template <typename F>
struct Logistic {
  F value, rest;
};

template <typename F>
[[gnu::always_inline]] inline Logistic<F> logistic(F z) {
  const F e = exp_below(z < 0 ? z : -z);
  const F large = 1 / (1 + e);
  const F small = e * large;
  return {z < 0 ? small : large, z < 0 ? large : small};
}

}  // namespace

template <typename T>
EK_CLONES void swiglu_row(const T* __restrict up, const T* __restrict gate, T* __restrict y,
                          std::int64_t width) {
  using F = Wide<T>;
  if constexpr (std::is_same_v<T, Bf16>) {
    if (swiglu_row_in_lanes(up, gate, y, width)) return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F z = static_cast<F>(load(gate + i));
    store(y + i, static_cast<F>(load(up + i)) * (z * logistic(z).value));
  }
}

template <typename T>
EK_CLONES void swiglu_row_backward(const SwigluGradient<T>& row, std::int64_t width) {
  using F = Wide<T>;
  if constexpr (std::is_same_v<T, Bf16>) {
    if (swiglu_row_backward_in_lanes(row, width)) return;
  }
  const T* __restrict const dy = row.dy;
  const T* __restrict const up = row.up;
  const T* __restrict const gate = row.gate;
  T* __restrict const dup = row.dup;
  T* __restrict const dgate = row.dgate;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F z = static_cast<F>(load(gate + i));
    const F upstream = static_cast<F>(load(dy + i));
    const auto s = logistic(z);
    store(dup + i, upstream * (z * s.value));
    store(dgate + i, upstream * static_cast<F>(load(up + i)) * (s.value * (1 + z * s.rest)));
  }
}

#define EK_INSTANTIATE(T)                                         \
  template void swiglu_row(const T*, const T*, T*, std::int64_t); \
  template void swiglu_row_backward(const SwigluGradient<T>&, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
