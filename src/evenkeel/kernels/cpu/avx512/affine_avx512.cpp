// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/affine_avx512.h"

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/columns_avx512.h"

namespace evenkeel::kernels::cpu {

namespace {

struct AffineRow {
  const Bf16* x;
  const float* gain;
  const float* bias;
  Bf16* y;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) const {
    const __m512 value = avx512::load_16(x + i, mask);
    avx512::store_rounded_16(
        y + i,
        _mm512_fmadd_ps(value, avx512::load_16(gain + i, mask), avx512::load_16(bias + i, mask)),
        mask);
  }
};

/// kRows rows from offset `at` on, in one pass over the gradients of gain and bias, whose sums are
/// in double.
template <int kRows>
struct AffineRowsBackward {
  const AffineGradient<Bf16>& args;
  std::int64_t at, width;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) const {
    const __m512 gain = avx512::load_16(args.gain + i, mask);
    auto dgain = avx512::zero_doubles(), dbias = dgain;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto offset = at + r * width + i;
      prefetch_ahead(args.dy + offset);
      prefetch_ahead(args.x + offset);
      const __m512 upstream = avx512::load_16(args.dy + offset, mask);
      avx512::store_rounded_16(args.dx + offset, _mm512_mul_ps(upstream, gain), mask);
      const auto wide = avx512::to_doubles(upstream);
      dgain = avx512::add_products(dgain, wide,
                                   avx512::to_doubles(avx512::load_16(args.x + offset, mask)));
      dbias = avx512::add(dbias, wide);
    }
    if (args.dgain != nullptr) avx512::add_16(args.dgain + i, dgain, mask);
    if (args.dbias != nullptr) avx512::add_16(args.dbias + i, dbias, mask);
  }
};

}  // namespace

EK_AVX512_BF16 static void affine_row_in_float(const AffineRow& row, std::int64_t width) {
  avx512::for_each_16_columns(width, row);
}

EK_AVX512_BF16 static void affine_backward_in_float(const AffineGradient<Bf16>& args,
                                                    std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kAtOnce = 4;
  std::int64_t row = 0;
  for (; row + kAtOnce <= rows; row += kAtOnce) {
    avx512::for_each_16_columns(width, AffineRowsBackward<kAtOnce>{args, row * width, width});
  }
  for (; row < rows; ++row) {
    avx512::for_each_16_columns(width, AffineRowsBackward<1>{args, row * width, width});
  }
}

bool affine_row_avx512(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                       std::int64_t width) {
  if (!has_avx512_bf16()) return false;
  affine_row_in_float({x, gain, bias, y}, width);
  return true;
}

bool affine_backward_avx512(const AffineGradient<Bf16>& args, std::int64_t rows,
                            std::int64_t width) {
  if (!has_avx512_bf16()) return false;
  affine_backward_in_float(args, rows, width);
  return true;
}

}  // namespace evenkeel::kernels::cpu
