// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/layer_norm_avx512.h"

#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/centred_rows_avx512.h"

namespace evenkeel::kernels::cpu {

namespace {

using centred_rows::RowFactors;

EK_AVX512_BF16 std::optional<RowMoments> layer_forward(const Bf16* x, const float* gain,
                                                       const float* bias, Bf16* y,
                                                       std::int64_t width, double epsilon) {
  const auto near = centred_rows::near_statistic(x, width);
  const auto [mean, variance] = near ? *near : centred_rows::far_statistic(x, width);
  const RowMoments moments = {.mean = mean, .rstd = inverse_root(variance + epsilon)};
  if (!fits_float32(moments.rstd)) return std::nullopt;
  const auto row = centred_rows::centred(moments.mean, moments.rstd);
  const bool is_done = near ? centred_rows::scale<true>(x, row, gain, bias, y, width)
                            : centred_rows::scale<false>(x, row, gain, bias, y, width);
  if (!is_done) return std::nullopt;
  return moments;
}

template <int kRows>
EK_AVX512_BF16 bool layer_backward(const LayerNormGradient<Bf16>& args, std::int64_t first,
                                   std::int64_t width) {
  const centred_rows::Gradient rows = {.dy = args.dy,
                                       .x = args.x,
                                       .gain = args.gain,
                                       .dx = args.dx,
                                       .dgain = args.dgain,
                                       .dbias = args.dbias,
                                       .stride = width,
                                       .width = width,
                                       .partial = width,
                                       .is_centred = true};
  RowFactors factors[kRows];
  for (int r = 0; r < kRows; ++r) {
    const double rstd = args.rstd[first + r];
    factors[r] = {args.mean[first + r], rstd, rstd / static_cast<double>(width)};
  }
  return centred_rows::rows_backward<true>(rows, first * width, factors) ||
         centred_rows::rows_backward<false>(rows, first * width, factors);
}

}  // namespace

std::optional<RowMoments> layer_norm_row_avx512(const Bf16* x, const float* gain, const float* bias,
                                                Bf16* y, std::int64_t width, double epsilon) {
  if (!has_avx512_bf16()) return std::nullopt;
  return layer_forward(x, gain, bias, y, width, epsilon);
}

std::int64_t layer_norm_backward_avx512(const LayerNormGradient<Bf16>& args, std::int64_t first,
                                        std::int64_t rows, std::int64_t width) {
  if (!has_avx512_bf16()) return 0;
  return processed_rows(
      first, rows, [&](std::int64_t row) { return layer_backward<4>(args, row, width); },
      [&](std::int64_t row) { return layer_backward<1>(args, row, width); });
}

}  // namespace evenkeel::kernels::cpu
