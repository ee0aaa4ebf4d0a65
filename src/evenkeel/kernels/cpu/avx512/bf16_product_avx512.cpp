// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/bf16_product_avx512.h"

#include <algorithm>

#include "evenkeel/kernels/cpu/avx512/avx512_gemm.h"

namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kWide = Bf16Product::kPanel / kTile;  // vectors of sums of a row

std::int64_t padded_depth(const Bf16Product& in) {
  return up_to(kTwoTiles, in.depth);
}

/// The last term of an odd depth, as a pair with 0.
EK_AVX512_BF16_INLINE __m512bh broadcast_single(const Bf16* value) {
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(value->bits));
}

/// The sums of kRows rows of x times a panel.
template <int kRows>
struct PanelSums {
  __m512 of[kRows][kWide];

  EK_AVX512_BF16_INLINE void clear() {
    for (auto& row : of) {
      for (auto& each : row) each = _mm512_setzero_ps();
    }
  }
  EK_AVX512_BF16_INLINE void load(const float* from, std::int64_t stride) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (std::int64_t j = 0; j < kWide; ++j) {
        of[i][j] = _mm512_loadu_ps(from + i * stride + j * kTile);
      }
    }
  }
  EK_AVX512_BF16_INLINE void store(float* to, std::int64_t stride) const {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (std::int64_t j = 0; j < kWide; ++j) {
        _mm512_storeu_ps(to + i * stride + j * kTile, of[i][j]);
      }
    }
  }

  /// Adds a pair of terms of each row, or the last term of an odd depth.
  /// \param x       [kRows, ...], rows `x_stride` apart
  /// \param stride  between the vectors of a row of the panel
  template <bool kIsPair>
  EK_AVX512_BF16_INLINE void add(const Bf16* x, std::int64_t x_stride, const std::uint32_t* pairs,
                                 std::int64_t stride) {
    __m512bh right[kWide];
#pragma GCC unroll 2
    for (std::int64_t j = 0; j < kWide; ++j) {
      right[j] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(pairs + j * stride));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Bf16* const at = x + i * x_stride;
      const __m512bh left = kIsPair ? broadcast_pair(at) : broadcast_single(at);
#pragma GCC unroll 2
      for (std::int64_t j = 0; j < kWide; ++j) {
        of[i][j] = _mm512_dpbf16_ps(of[i][j], left, right[j]);
      }
    }
  }

  /// Adds rows of y.
  /// \param columns  of the panel that y has
  EK_AVX512_BF16_INLINE void add_rows(const Bf16* y, std::int64_t y_stride, std::int64_t columns) {
#pragma GCC unroll 2
    for (std::int64_t j = 0; j < kWide; ++j) {
      const auto mask = avx512::tail_mask_16(columns - j * kTile);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        of[i][j] = _mm512_add_ps(of[i][j], avx512::load_16(y + i * y_stride + j * kTile, mask));
      }
    }
  }
};

/// kRows rows of y, from `row` on, in the columns of a panel.
template <int kRows>
EK_AVX512_BF16_INLINE void multiply_rows(const Bf16Product& in, const std::uint32_t* pairs,
                                         std::int64_t row, std::int64_t column) {
  const auto stride = padded_depth(in) / 2 * kTile;  // between the vectors of a pair of terms
  const Bf16* const x = in.x + row * in.x_stride;
  PanelSums<kRows> sums;
  float* const kept =
      in.sums == nullptr ? nullptr : in.sums + row * in.panels() * Bf16Product::kPanel + column;
  const auto kept_stride = in.panels() * Bf16Product::kPanel;
  in.is_first ? sums.clear() : sums.load(kept, kept_stride);
  std::int64_t k = 0;
  for (; k + 2 <= in.depth; k += 2) {
    sums.template add<true>(x + k, in.x_stride, pairs + k / 2 * kTile, stride);
  }
  if (k < in.depth) {
    sums.template add<false>(x + k, in.x_stride, pairs + k / 2 * kTile, stride);
  }
  if (!in.is_last) return sums.store(kept, kept_stride);
  const auto columns = in.columns - column;
  if (in.is_added) sums.add_rows(in.y + row * in.y_stride + column, in.y_stride, columns);
  const auto mask = avx512::tail_mask_32(columns);
  const bool is_streamed = in.non_temporal && in.is_cache_line(column);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    Bf16* const to = in.y + (row + i) * in.y_stride + column;
    const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(sums.of[i][1], sums.of[i][0]));
    if (is_streamed) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), both);
    } else {
      _mm512_mask_storeu_epi16(to, mask, both);
    }
  }
}

}  // namespace

std::int64_t Bf16Product::panel_pairs() const {
  return padded_depth(*this) / 2 * kPanel;
}

bool Bf16Product::is_cache_line(std::int64_t column) const {
  return column + kPanel <= columns && y_stride % kPanel == 0 &&
         reinterpret_cast<std::uintptr_t>(y) % 64 == 0;
}

EK_AVX512_BF16 void pack_panel(const Bf16Product& in, std::int64_t panel, std::uint32_t* pairs) {
  const auto depth = padded_depth(in);
  const auto first = panel * Bf16Product::kPanel;
  const auto wide = std::min(Bf16Product::kPanel, in.columns - first);
  std::uint32_t* const to = pairs + panel * in.panel_pairs();
  if (in.is_transposed) {
    pack_as_columns({{in.w, in.w_stride}, first, wide, Bf16Product::kPanel, in.depth}, depth, to);
  } else {
    pack_as_rows({{in.w + first, in.w_stride}, 0, in.depth, depth, wide}, Bf16Product::kPanel, to,
                 depth / 2 * kTile);
  }
}

EK_AVX512_BF16 void multiply_panels(const Bf16Product& in, const std::uint32_t* pairs,
                                    const ProductRange& rows, const ProductRange& panels) {
  static_assert(Bf16Product::kRows == 8);
  for (auto panel = panels.first; panel < panels.last; ++panel) {
    const std::uint32_t* const from = pairs + panel * in.panel_pairs();
    const auto column = panel * Bf16Product::kPanel;
    auto row = rows.first;
    for (; row + 8 <= rows.last; row += 8) multiply_rows<8>(in, from, row, column);
    for (; row + 2 <= rows.last; row += 2) multiply_rows<2>(in, from, row, column);
    if (row < rows.last) multiply_rows<1>(in, from, row, column);
  }
  _mm_sfence();  // orders the non-temporal stores before later stores of this thread
}

}  // namespace evenkeel::kernels::cpu
