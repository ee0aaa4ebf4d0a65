// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/adamw.h"

#include <cmath>

namespace evenkeel::kernels::cpu {

template <typename W, typename G>
EK_CLONES void adamw(W* __restrict weight, W* __restrict first, W* __restrict second,
                     const G* __restrict gradient, std::int64_t count,
                     const AdamwFactors& factors) {
  const auto gradient_scale = static_cast<W>(factors.gradient_scale);
  const auto one_minus_beta1 = static_cast<W>(1 - factors.beta1);
  const auto beta2 = static_cast<W>(factors.beta2);
  const auto one_minus_beta2 = static_cast<W>(1 - factors.beta2);
  const auto decay = static_cast<W>(factors.decay);
  const auto step_size = static_cast<W>(factors.step_size);
  const auto root_scale = static_cast<W>(factors.root_scale);
  const auto epsilon = static_cast<W>(factors.epsilon);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const W g = gradient_scale * static_cast<W>(load(gradient + i));
    const W mean = first[i] + one_minus_beta1 * (g - first[i]);
    const W mean_square = beta2 * second[i] + one_minus_beta2 * g * g;
    const W divisor = root_scale * std::sqrt(mean_square) + epsilon;
    first[i] = mean;
    second[i] = mean_square;
    weight[i] = decay * weight[i] - step_size * mean / divisor;
  }
}

template <typename W>
EK_CLONES void round_to_bf16(const W* __restrict from, Bf16* __restrict to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) store(to + i, load(from + i));
}

template <typename W>
EK_CLONES void take_over_bf16(const Bf16* __restrict copy, W* __restrict weight,
                              std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    Bf16 rounded;
    store(&rounded, load(weight + i));
    const auto other = static_cast<W>(load(copy + i));
    weight[i] = rounded.bits == copy[i].bits ? weight[i] : other;
  }
}

#define EK_INSTANTIATE(W, G) \
  template void adamw(W*, W*, W*, const G*, std::int64_t, const AdamwFactors&);
EK_INSTANTIATE(double, double)
EK_INSTANTIATE(double, float)
EK_INSTANTIATE(double, Bf16)
EK_INSTANTIATE(float, double)
EK_INSTANTIATE(float, float)
EK_INSTANTIATE(float, Bf16)
#undef EK_INSTANTIATE
template void round_to_bf16(const double*, Bf16*, std::int64_t);
template void round_to_bf16(const float*, Bf16*, std::int64_t);
template void take_over_bf16(const Bf16*, double*, std::int64_t);
template void take_over_bf16(const Bf16*, float*, std::int64_t);

}  // namespace evenkeel::kernels::cpu
