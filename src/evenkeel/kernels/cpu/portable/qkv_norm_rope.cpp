// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/qkv_norm_rope.h"

#include <algorithm>
#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/qkv_norm_rope_avx512.h"
#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/portable/norm_backward_float32.h"

namespace evenkeel::kernels::cpu {

namespace {

/// value(i), i = 0 .. width - 1, rotated in F and handed to put(i, result).
template <typename F, typename Angle, typename Value, typename Put>
[[gnu::always_inline]] inline void rotated(const Angle* cos_sin, std::int64_t width, F direction,
                                           const Value& value, const Put& put) {
  if (cos_sin == nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) put(i, value(i));
    return;
  }
  const auto half = width / 2;
  const Angle* __restrict const cosine = cos_sin;
  const Angle* __restrict const sine = cos_sin + half;
#pragma omp simd
  for (std::int64_t j = 0; j < half; ++j) {
    const F a = value(j), b = value(j + half);
    const F c = static_cast<F>(load(cosine + j)), s = direction * static_cast<F>(load(sine + j));
    put(j, a * c - b * s);
    put(j + half, b * c + a * s);
  }
}

/// R(gain * (x * factor)) of one head, in F; no gain: R x.
template <typename F, typename T>
[[gnu::always_inline]] inline void forward(const Heads<T>& heads, std::int64_t h, double scale,
                                           F factor) {
  const T* __restrict const x = heads.x + h * heads.width;
  const OpMathType<T>* __restrict const gain = heads.gain;
  T* __restrict const y = heads.y + h * heads.width;
  const auto put = [=](std::int64_t i, F value) { store(y + i, value); };
  const auto scaled_x = [=](std::int64_t i) { return static_cast<F>(load(x + i) * scale); };
  if (gain == nullptr) {
    rotated<F>(heads.cos_sin, heads.width, 1, scaled_x, put);
  } else {
    const auto normed = [=](std::int64_t i) {
      return scaled_x(i) * factor * static_cast<F>(load(gain + i));
    };
    rotated<F>(heads.cos_sin, heads.width, 1, normed, put);
  }
}

/// Some heads of a token, forward. Their roots are one vector's: a root takes longer than a head.
template <int kCount, typename T>
[[gnu::always_inline]] inline void process_heads(const Heads<T>& heads, std::int64_t first) {
  const auto width = heads.width;
  double scale[kCount], root[kCount];
  for (int r = 0; r < kCount; ++r) {
    const T* __restrict const x = heads.x + (first + r) * width;
    scale[r] = row_scale(x, width, heads.epsilon);
    root[r] = squares_of_row</*kPrefetch=*/false>(x, width, scale[r]) / static_cast<double>(width) +
              heads.epsilon * scale[r] * scale[r];
  }
#pragma omp simd
  for (int r = 0; r < kCount; ++r) root[r] = inverse_root(root[r]);
  for (int r = 0; r < kCount; ++r) {
    const auto h = first + r;
    heads.rstd[h] = root[r] * scale[r];
    if (!std::is_same_v<T, double> && fits_float32(root[r])) {
      forward<float>(heads, h, 1.0, static_cast<float>(root[r]));
    } else {
      forward<double>(heads, h, scale[r], root[r]);
    }
  }
}

/// A token, forward.
template <typename T>
[[gnu::always_inline]] inline void process_token(const Heads<T>& heads) {
  if (heads.gain == nullptr) {
    for (std::int64_t h = 0; h < heads.count; ++h) forward<OpMathType<T>>(heads, h, 1.0, 1);
    return;
  }
  constexpr int kAtOnce = 4;
  std::int64_t h = 0;
  for (; h + kAtOnce <= heads.count; h += kAtOnce) process_heads<kAtOnce>(heads, h);
  for (; h < heads.count; ++h) process_heads<1>(heads, h);
}

/// One head, in double. \param g  [width]: the gradient before the rotation
template <typename T>
[[gnu::always_inline]] inline void backward(const HeadsGradient<T>& heads, std::int64_t h,
                                            const double* __restrict g) {
  const auto width = heads.width;
  const OpMathType<T>* __restrict const gain = heads.gain;
  const T* __restrict const x = heads.x + h * width;
  T* __restrict const dx = heads.dx + h * width;
  double* __restrict const dgain = heads.dgain;
  const double rstd = heads.rstd[h];
  const double dot =
      sum_over(width, [=](std::int64_t i) { return g[i] * load(gain + i) * (load(x + i) * rstd); });
  const double mean = dot / static_cast<double>(width);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double x_hat = load(x + i) * rstd;
    dgain[i] += g[i] * x_hat;
    store(dx + i, rstd * (g[i] * load(gain + i) - x_hat * mean));
  }
}

/// g = what reached the head, rotated back.
template <typename F, typename T>
[[gnu::always_inline]] inline void inverse_rotated(const HeadsGradient<T>& heads, std::int64_t h,
                                                   F* g) {
  const T* const dy = heads.dy + h * heads.width;
  rotated(
      heads.cos_sin, heads.width, F(-1),
      [=](std::int64_t i) { return static_cast<F>(load(dy + i)); },
      [=](std::int64_t i, F value) { g[i] = value; });
}

constexpr std::int64_t kMaxFloat32Width = 512;

/// One head in float32; false where it must be in double.
/// \param g      [width]: the gradient before the rotation
/// \param dgain  [width]: of this token, added to
template <typename T>
[[gnu::always_inline]] inline bool backward_in_float(const HeadsGradient<T>& heads, std::int64_t h,
                                                     const float* __restrict g,
                                                     float* __restrict dgain) {
  const auto width = heads.width;
  const float* __restrict const gain = heads.gain;
  const T* __restrict const x = heads.x + h * width;
  T* __restrict const dx = heads.dx + h * width;
  const auto row_params = scaled_by(heads.rstd[h]);
  GradientMeans means;
  if (!means_in_float<false>(g, gain, x, row_params, heads.rstd[h], width, means)) return false;
  const float mean = means.slope;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    auto x_hat = static_cast<float>(load(x + i));
    normalize(row_params, x_hat);
    dgain[i] += g[i] * x_hat;
    store(dx + i, row_params.rstd * (g[i] * gain[i] - x_hat * mean));
  }
  return true;
}

template <typename T>
[[gnu::always_inline]] inline void backward_in_double(const HeadsGradient<T>& heads,
                                                      std::int64_t h) {
  inverse_rotated(heads, h, heads.scratch);
  backward(heads, h, heads.scratch);
}

/// The heads of a token, in float32 where they may be. Some are rotated before the first of them is
/// read: a vector that begins in one store and ends in another waits until both are in the cache.
template <typename T>
[[gnu::always_inline]] inline void process_token_in_float32(const HeadsGradient<T>& heads) {
  const auto width = heads.width;
  constexpr std::int64_t kHeadsAtOnce = 2;
  float dgain[kMaxFloat32Width];
  float g[kHeadsAtOnce * kMaxFloat32Width];
  std::fill_n(dgain, width, 0.F);
  for (std::int64_t first = 0; first < heads.count; first += kHeadsAtOnce) {
    const auto end = std::min(first + kHeadsAtOnce, heads.count);
    for (auto h = first; h < end; ++h) {
      for (std::int64_t i = 0; i < width; i += kLanes) {
        prefetch_ahead(heads.dy + h * width + i);
        prefetch_ahead(heads.x + h * width + i);
      }
      inverse_rotated(heads, h, g + (h - first) * width);
    }
    for (auto h = first; h < end; ++h) {
      if (!backward_in_float(heads, h, g + (h - first) * width, dgain)) {
        backward_in_double(heads, h);
      }
    }
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) heads.dgain[i] += static_cast<double>(dgain[i]);
}

/// The heads of a token that have a norm, backward.
template <typename T>
[[gnu::always_inline]] inline void process_normed_token(const HeadsGradient<T>& heads) {
  const auto width = heads.width;
  if constexpr (!std::is_same_v<T, double>) {
    if (width <= kMaxFloat32Width) return process_token_in_float32(heads);
  }
  for (std::int64_t h = 0; h < heads.count; ++h) backward_in_double(heads, h);
}

/// A token, backward.
template <typename T>
[[gnu::always_inline]] inline void process_token(const HeadsGradient<T>& heads) {
  if (heads.gain != nullptr) return process_normed_token(heads);
  const auto width = heads.width;
  using F = OpMathType<T>;
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const T* const dy = heads.dy + h * width;
    T* const dx = heads.dx + h * width;
    rotated(
        heads.cos_sin, width, F(-1), [=](std::int64_t i) { return static_cast<F>(load(dy + i)); },
        [=](std::int64_t i, F value) { store(dx + i, value); });
  }
}

/// A token, forward or backward. Loops over float32 heads of usual widths have a known length: no
/// ends to take care of (docs/decisions/0011, 0013).
template <template <typename> typename Of, typename T>
[[gnu::always_inline]] inline void dispatch_common_width(const Of<T>& heads) {
  auto known = heads;
  switch (std::is_same_v<T, float> ? heads.width : 0) {
    case 32:
      known.width = 32;
      return process_token(known);
    case 48:
      known.width = 48;
      return process_token(known);
    case 64:
      known.width = 64;
      return process_token(known);
    case 96:
      known.width = 96;
      return process_token(known);
    case 128:
      known.width = 128;
      return process_token(known);
    default:
      process_token(heads);
  }
}

}  // namespace

template <typename T>
EK_CLONES void norm_rope(const Heads<T>& heads) {
  if constexpr (!std::is_same_v<T, double>) {
    if (norm_rope_avx512(heads)) return;
  }
  dispatch_common_width(heads);
}

template <typename T>
EK_CLONES void norm_rope_backward(const HeadsGradient<T>& heads) {
  if constexpr (!std::is_same_v<T, double>) {
    if (norm_rope_backward_avx512(heads)) return;
  }
  dispatch_common_width(heads);
}

#define EK_INSTANTIATE(T)                   \
  template void norm_rope(const Heads<T>&); \
  template void norm_rope_backward(const HeadsGradient<T>&);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
