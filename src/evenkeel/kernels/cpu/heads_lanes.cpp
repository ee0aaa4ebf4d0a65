// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/heads_lanes.h"

#include "evenkeel/kernels/cpu/amx.h"

#if defined(__x86_64__)

#include <array>

#include "evenkeel/kernels/cpu/bf16_lanes.h"
#include "evenkeel/kernels/cpu/row.h"

namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kWidest = 512;  // of a head

using Values = std::array<float, kWidest>;

/// Sixteen floats from `from` on, of which `mask` are there; zeros elsewhere.
EK_LANES __m512 floats(const float* from, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, from);
}

/// The two values of a pair, sixteen pairs at a time, turned by their angles.
struct Pair {
  __m512 a, b;
};
EK_LANES Pair turned(const Pair& z, __m512 cosine, __m512 sine) {
  return {_mm512_fmsub_ps(z.a, cosine, _mm512_mul_ps(z.b, sine)),
          _mm512_fmadd_ps(z.b, cosine, _mm512_mul_ps(z.a, sine))};
}

/// gain * x * factor, sixteen values from i on; without a gain: x.
EK_LANES __m512 normed(const Bf16* x, const float* gain, float factor, std::int64_t i,
                       __mmask16 mask) {
  const __m512 value = lanes::load_16(x + i, mask);
  if (gain == nullptr) return value;
  return _mm512_mul_ps(_mm512_mul_ps(value, _mm512_set1_ps(factor)), floats(gain + i, mask));
}

/// y = R(gain * x * factor); gain or turn may be null.
EK_LANES void forward(const Bf16* x, const float* gain, float factor, const float* turn, Bf16* y,
                      std::int64_t width) {
  const auto half = turn == nullptr ? width : width / 2;
  for (std::int64_t j = 0; j < half; j += 16) {
    const auto mask = lanes::first_of_16(half - j);
    if (turn == nullptr) {
      lanes::store_16(y + j, normed(x, gain, factor, j, mask), mask);
      continue;
    }
    const Pair z =
        turned({normed(x, gain, factor, j, mask), normed(x, gain, factor, j + half, mask)},
               floats(turn + j, mask), floats(turn + half + j, mask));
    lanes::store_16(y + j, z.a, mask);
    lanes::store_16(y + j + half, z.b, mask);
  }
}

/// R^T dy.
EK_LANES void turn_back(const Bf16* dy, const float* turn, std::int64_t width, Values& g) {
  const auto half = turn == nullptr ? width : width / 2;
  for (std::int64_t j = 0; j < half; j += 16) {
    const auto mask = lanes::first_of_16(half - j);
    const __m512 a = lanes::load_16(dy + j, mask);
    if (turn == nullptr) {
      _mm512_mask_storeu_ps(&g[static_cast<std::size_t>(j)], mask, a);
      continue;
    }
    const __m512 minus = _mm512_sub_ps(_mm512_setzero_ps(), floats(turn + half + j, mask));
    const Pair z = turned({a, lanes::load_16(dy + j + half, mask)}, floats(turn + j, mask), minus);
    _mm512_mask_storeu_ps(&g[static_cast<std::size_t>(j)], mask, z.a);
    _mm512_mask_storeu_ps(&g[static_cast<std::size_t>(j + half)], mask, z.b);
  }
}

/// to[0, 16) += values, for the lanes of mask.
EK_LANES void add_doubles(double* to, __m512 values, __mmask16 mask) {
  const auto low = static_cast<__mmask8>(mask), high = static_cast<__mmask8>(mask >> 8);
  const __m512d a = _mm512_cvtps_pd(_mm512_castps512_ps256(values));
  const __m512d b = _mm512_cvtps_pd(_mm512_extractf32x8_ps(values, 1));
  _mm512_mask_storeu_pd(to, low, _mm512_add_pd(_mm512_maskz_loadu_pd(low, to), a));
  _mm512_mask_storeu_pd(to + 8, high, _mm512_add_pd(_mm512_maskz_loadu_pd(high, to + 8), b));
}

EK_AMX bool forward_of(const Heads<Bf16>& heads, std::int64_t h) {
  const auto width = heads.width;
  const Bf16* const x = heads.x + h * width;
  float factor = 1;
  if (heads.gain != nullptr) {
    __m512 sum = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < width; i += 16) {
      const __m512 value = lanes::load_16(x + i, lanes::first_of_16(width - i));
      sum = _mm512_fmadd_ps(value, value, sum);
    }
    const auto squares = static_cast<double>(_mm512_reduce_add_ps(sum));
    const double root = inverse_root(squares / static_cast<double>(width) + heads.epsilon);
    if (!is_moderate(squares) || !is_moderate(root)) return false;
    heads.rstd[h] = root;
    factor = static_cast<float>(root);
  }
  forward(x, heads.gain, factor, heads.turn, heads.y + h * width, width);
  return true;
}

EK_AMX bool backward_of(const HeadsGradient<Bf16>& heads, std::int64_t h) {
  const auto width = heads.width;
  Bf16* const dx = heads.dx + h * width;
  Values g;
  const auto g_at = [&g](std::int64_t i) { return &g[static_cast<std::size_t>(i)]; };
  turn_back(heads.dy + h * width, heads.turn, width, g);
  if (heads.gain == nullptr) {
    for (std::int64_t i = 0; i < width; i += 16) {
      const auto mask = lanes::first_of_16(width - i);
      lanes::store_16(dx + i, floats(g_at(i), mask), mask);
    }
    return true;
  }
  const Bf16* const x = heads.x + h * width;
  const __m512 rstd = _mm512_set1_ps(static_cast<float>(heads.rstd[h]));
  __m512 sum = _mm512_setzero_ps(), largest = sum;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = lanes::first_of_16(width - i);
    const __m512 slope = _mm512_mul_ps(floats(g_at(i), mask), floats(heads.gain + i, mask));
    const __m512 x_hat = _mm512_mul_ps(lanes::load_16(x + i, mask), rstd);
    sum = _mm512_fmadd_ps(slope, x_hat, sum);
    largest = _mm512_max_ps(largest, _mm512_abs_ps(slope));
  }
  if (!is_moderate(heads.rstd[h]) ||
      !is_moderate(static_cast<double>(_mm512_reduce_max_ps(largest)))) {
    return false;
  }
  const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / static_cast<float>(width));
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = lanes::first_of_16(width - i);
    const __m512 upstream = floats(g_at(i), mask);
    const __m512 slope = _mm512_mul_ps(upstream, floats(heads.gain + i, mask));
    const __m512 x_hat = _mm512_mul_ps(lanes::load_16(x + i, mask), rstd);
    add_doubles(heads.dgain + i, _mm512_mul_ps(upstream, x_hat), mask);
    lanes::store_16(dx + i, _mm512_mul_ps(rstd, _mm512_fnmadd_ps(x_hat, mean, slope)), mask);
  }
  return true;
}

}  // namespace

bool norm_and_turn_in_lanes(const Heads<Bf16>& heads, std::int64_t h) {
  return has_amx() && heads.width <= kWidest && forward_of(heads, h);
}

bool norm_and_turn_backward_in_lanes(const HeadsGradient<Bf16>& heads, std::int64_t h) {
  return has_amx() && heads.width <= kWidest && backward_of(heads, h);
}

}  // namespace evenkeel::kernels::cpu

#else

namespace evenkeel::kernels::cpu {

bool norm_and_turn_in_lanes(const Heads<Bf16>&, std::int64_t) {
  return false;
}

bool norm_and_turn_backward_in_lanes(const HeadsGradient<Bf16>&, std::int64_t) {
  return false;
}

}  // namespace evenkeel::kernels::cpu

#endif
