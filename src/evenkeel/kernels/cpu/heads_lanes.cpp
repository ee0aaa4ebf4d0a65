// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/heads_lanes.h"

#include "evenkeel/kernels/cpu/amx.h"

#if defined(__x86_64__)

#include <algorithm>

#include "evenkeel/kernels/cpu/bf16_lanes.h"

namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kMostVectors = 8;  // of half a head

/// The two halves of a head, of kHalf vectors each; what they do not fill is 0.
template <int kHalf>
struct Halves {
  __m512 a[kHalf], b[kHalf];
};

/// Where the values of a head lie.
template <int kHalf>
struct Places {
  std::int64_t half;
  __mmask16 a[kHalf], b[kHalf];
};
template <int kHalf>
EK_LANES Places<kHalf> places_in(std::int64_t width) {
  Places<kHalf> in{.half = (width + 1) / 2, .a = {}, .b = {}};
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    in.a[j] = lanes::first_of_16(in.half - 16 * j);
    in.b[j] = lanes::first_of_16(width - in.half - 16 * j);
  }
  return in;
}

/// \tparam T  Bf16 or float
template <int kHalf, typename T>
EK_LANES Halves<kHalf> load(const T* from, const Places<kHalf>& in) {
  Halves<kHalf> z;
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    z.a[j] = lanes::load_16(from + 16 * j, in.a[j]);
    z.b[j] = lanes::load_16(from + in.half + 16 * j, in.b[j]);
  }
  return z;
}

template <int kHalf>
EK_LANES void store(Bf16* to, const Halves<kHalf>& z, const Places<kHalf>& in) {
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    lanes::store_16(to + 16 * j, z.a[j], in.a[j]);
    lanes::store_16(to + in.half + 16 * j, z.b[j], in.b[j]);
  }
}

/// Whether a value is too small to be rounded by the processor. Nothing asks of normed heads: their
/// largest result is near 1 times the gain, or the largest gradient moderate, and what is 0 of the
/// others then is 2^-60 of it at most.
template <int kHalf>
EK_LANES bool has_tiny(const Halves<kHalf>& z) {
  unsigned tiny = 0;
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    tiny |= lanes::tiny_of(z.a[j]);
    tiny |= lanes::tiny_of(z.b[j]);
  }
  return tiny != 0;
}

template <int kHalf>
EK_LANES Halves<kHalf> times(const Halves<kHalf>& z, const Halves<kHalf>& by) {
  Halves<kHalf> out;
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    out.a[j] = _mm512_mul_ps(z.a[j], by.a[j]);
    out.b[j] = _mm512_mul_ps(z.b[j], by.b[j]);
  }
  return out;
}

template <int kHalf>
EK_LANES Halves<kHalf> times(const Halves<kHalf>& z, __m512 factor) {
  Halves<kHalf> out;
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    out.a[j] = _mm512_mul_ps(z.a[j], factor);
    out.b[j] = _mm512_mul_ps(z.b[j], factor);
  }
  return out;
}

/// (a, b) turned by the angles whose cosines are turn.a and whose sines are turn.b.
template <int kHalf>
EK_LANES Halves<kHalf> turned(const Halves<kHalf>& z, const Halves<kHalf>& turn) {
  Halves<kHalf> out;
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    out.a[j] = _mm512_fmsub_ps(z.a[j], turn.a[j], _mm512_mul_ps(z.b[j], turn.b[j]));
    out.b[j] = _mm512_fmadd_ps(z.b[j], turn.a[j], _mm512_mul_ps(z.a[j], turn.b[j]));
  }
  return out;
}

/// The angles the other way round.
template <int kHalf>
EK_LANES Halves<kHalf> backwards(Halves<kHalf> turn) {
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) turn.b[j] = _mm512_sub_ps(_mm512_setzero_ps(), turn.b[j]);
  return turn;
}

/// The largest |value| of a head, in sixteen parts.
template <int kHalf>
EK_LANES __m512 largest_of(const Halves<kHalf>& z) {
  __m512 largest = _mm512_setzero_ps();
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    largest = lanes::larger_of(largest, lanes::larger_of(z.a[j], z.b[j]));
  }
  return largest;
}

constexpr int kHeadsAtOnce = 4;

/// The sums of four vectors.
EK_LANES __m128 sums_of(const __m512 (&r)[kHeadsAtOnce]) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(r[0], r[1]), _mm512_unpackhi_ps(r[0], r[1]));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(r[2], r[3]), _mm512_unpackhi_ps(r[2], r[3]));
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512 all = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/// The lanes whose values are moderate.
EK_LANES __mmask8 moderate_of(__m256d values) {
  const __mmask8 is_large = _mm256_cmp_pd_mask(values, _mm256_set1_pd(1 / kFar), _CMP_GT_OQ);
  return _mm256_mask_cmp_pd_mask(is_large, values, _mm256_set1_pd(kFar), _CMP_LT_OQ);
}

/// rstd of all heads; false if one of them is not moderate. Ahead of what needs them, so that no
/// head waits for its root.
template <int kHalf>
EK_LANES bool find_rstd(const Heads<Bf16>& heads) {
  __mmask32 mask[kHalf];
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) mask[j] = lanes::first_of_32(heads.width - 32 * j);
  const __m256d share = _mm256_set1_pd(1 / static_cast<double>(heads.width));
  const __m256d epsilon = _mm256_set1_pd(heads.epsilon);
  for (std::int64_t first = 0; first < heads.count; first += kHeadsAtOnce) {
    const auto count = std::min<std::int64_t>(kHeadsAtOnce, heads.count - first);
    __m512 partial[kHeadsAtOnce] = {};
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < kHeadsAtOnce; ++r) {
      const Bf16* const x = heads.x + (first + std::min(r, count - 1)) * heads.width;
#pragma GCC unroll 8
      for (int j = 0; j < kHalf; ++j) {
        const __m512bh value = lanes::load_32(x + 32 * j, mask[j]);
        partial[r] = _mm512_dpbf16_ps(partial[r], value, value);
      }
    }
    const __m256d squares = _mm256_cvtps_pd(sums_of(partial));
    const __m256d root = _mm256_sqrt_pd(_mm256_fmadd_pd(squares, share, epsilon));
    const __m256d rstd = _mm256_div_pd(_mm256_set1_pd(1), root);
    _mm256_mask_storeu_pd(heads.rstd + first, static_cast<__mmask8>((1 << count) - 1), rstd);
    if ((moderate_of(squares) & moderate_of(rstd)) != (1 << kHeadsAtOnce) - 1) return false;
  }
  return true;
}

template <int kHalf, bool kNorm, bool kTurn>
EK_AMX bool forward(const Heads<Bf16>& heads) {
  const auto in = places_in<kHalf>(heads.width);
  Halves<kHalf> gain, turn;
  if constexpr (kTurn) turn = load(heads.turn, in);
  if constexpr (kNorm) {
    gain = load(heads.gain, in);
    if (!lanes::is_most_moderate(largest_of(gain)) || !find_rstd<kHalf>(heads)) return false;
  }
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const auto at = h * heads.width;
    auto z = load(heads.x + at, in);
    if constexpr (kNorm) {
      z = times(times(z, _mm512_set1_ps(static_cast<float>(heads.rstd[h]))), gain);
    }
    if constexpr (kTurn) z = turned(z, turn);
    store(heads.y + at, z, in);
    if constexpr (!kNorm) {
      if (has_tiny(z)) return false;
    }
  }
  return true;
}

/// The sum of all lanes, in each of them.
EK_LANES __m512 everywhere(__m512 v) {
  v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4e));
  v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xb1));
  v = _mm512_add_ps(v, _mm512_permute_ps(v, 0x4e));
  return _mm512_add_ps(v, _mm512_permute_ps(v, 0xb1));
}

/// The sum of a * b over a head, in sixteen parts.
template <int kHalf>
EK_LANES __m512 products_of(const Halves<kHalf>& a, const Halves<kHalf>& b) {
  __m512 sum = _mm512_setzero_ps(), other = sum;
#pragma GCC unroll 8
  for (int j = 0; j < kHalf; ++j) {
    sum = _mm512_fmadd_ps(a.a[j], b.a[j], sum);
    other = _mm512_fmadd_ps(a.b[j], b.b[j], other);
  }
  return _mm512_add_ps(sum, other);
}

template <int kHalf, bool kNorm, bool kTurn>
EK_AMX bool backward(const HeadsGradient<Bf16>& heads) {
  const auto in = places_in<kHalf>(heads.width);
  const __m512 share = _mm512_set1_ps(1 / static_cast<float>(heads.width));
  Halves<kHalf> gain, turn, dgain = {};
  if constexpr (kNorm) gain = load(heads.gain, in);
  if constexpr (kTurn) turn = backwards(load(heads.turn, in));
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const auto at = h * heads.width;
    auto g = load(heads.dy + at, in);
    if constexpr (kTurn) g = turned(g, turn);
    if constexpr (!kNorm) {
      store(heads.dx + at, g, in);
      if (has_tiny(g)) return false;
      continue;
    }
    const __m512 rstd = _mm512_set1_ps(static_cast<float>(heads.rstd[h]));
    const auto x_hat = times(load(heads.x + at, in), rstd);
    const auto slope = times(g, gain);
    if (!is_moderate(heads.rstd[h])) return false;
    if (!lanes::is_most_moderate(_mm512_mul_ps(largest_of(slope), rstd))) return false;
    const __m512 mean = _mm512_mul_ps(everywhere(products_of(slope, x_hat)), share);
    Halves<kHalf> dx;
#pragma GCC unroll 8
    for (int j = 0; j < kHalf; ++j) {
      dgain.a[j] = _mm512_fmadd_ps(g.a[j], x_hat.a[j], dgain.a[j]);
      dgain.b[j] = _mm512_fmadd_ps(g.b[j], x_hat.b[j], dgain.b[j]);
      dx.a[j] = _mm512_mul_ps(rstd, _mm512_fnmadd_ps(x_hat.a[j], mean, slope.a[j]));
      dx.b[j] = _mm512_mul_ps(rstd, _mm512_fnmadd_ps(x_hat.b[j], mean, slope.b[j]));
    }
    store(heads.dx + at, dx, in);
  }
  if constexpr (kNorm) {
#pragma GCC unroll 8
    for (int j = 0; j < kHalf; ++j) {
      lanes::add_16(heads.dgain + 16 * j, dgain.a[j], in.a[j]);
      lanes::add_16(heads.dgain + in.half + 16 * j, dgain.b[j], in.b[j]);
    }
  }
  return true;
}

template <int kHalf>
bool forward_of(const Heads<Bf16>& heads) {
  if (heads.gain == nullptr) return heads.turn != nullptr && forward<kHalf, false, true>(heads);
  if (heads.turn == nullptr) return forward<kHalf, true, false>(heads);
  return forward<kHalf, true, true>(heads);
}

template <int kHalf>
bool backward_of(const HeadsGradient<Bf16>& heads) {
  if (heads.gain == nullptr) return heads.turn != nullptr && backward<kHalf, false, true>(heads);
  if (heads.turn == nullptr) return backward<kHalf, true, false>(heads);
  return backward<kHalf, true, true>(heads);
}

/// How many vectors half a head fills.
std::int64_t vectors_of(std::int64_t width) {
  return ((width + 1) / 2 + 15) / 16;
}

}  // namespace

bool norm_and_turn_in_lanes(const Heads<Bf16>& heads) {
  const auto vectors = vectors_of(heads.width);
  if (!has_amx() || vectors > kMostVectors) return false;
  if (vectors <= 1) return forward_of<1>(heads);
  if (vectors == 2) return forward_of<2>(heads);
  if (vectors <= 4) return forward_of<4>(heads);
  return forward_of<kMostVectors>(heads);
}

bool norm_and_turn_backward_in_lanes(const HeadsGradient<Bf16>& heads) {
  const auto vectors = vectors_of(heads.width);
  if (!has_amx() || vectors > kMostVectors) return false;
  if (vectors <= 1) return backward_of<1>(heads);
  if (vectors == 2) return backward_of<2>(heads);
  if (vectors <= 4) return backward_of<4>(heads);
  return backward_of<kMostVectors>(heads);
}

}  // namespace evenkeel::kernels::cpu

#else

namespace evenkeel::kernels::cpu {

bool norm_and_turn_in_lanes(const Heads<Bf16>&) {
  return false;
}

bool norm_and_turn_backward_in_lanes(const HeadsGradient<Bf16>&) {
  return false;
}

}  // namespace evenkeel::kernels::cpu

#endif
