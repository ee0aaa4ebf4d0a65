// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/few_rows_matmul_amx.h"

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/amx_gemm.h"

/// Rows of w are the left operand, where they lie in memory, and rows of x the right one. Each
/// square of sums is transposed into y. Meanwhile the next rows of w are prefetched one after the
/// other, because memory is fastest in order.
namespace evenkeel::kernels::cpu {

namespace {

using Matmul = FewRowsMatmul<Bf16, std::uint32_t>;

constexpr std::int64_t kSide = kTwoTiles;
constexpr std::int64_t kLineValues = 32;  // of a cache line
static_assert(kAmxFewRows == kSide && kAmxFewColumns == kSide);

/// Prefetches rows of w, some lines at each call.
class RowPrefetch {
 public:
  EK_AMX_INLINE RowPrefetch(const Bf16* rows, std::int64_t stride, std::int64_t count,
                            std::int64_t depth)
      : at_(rows), stride_(stride), left_(count), depth_(depth) {}

  EK_AMX_INLINE void lines(std::int64_t count) {
    for (; count > 0 && left_ > 0; --count) {
      _mm_prefetch(at_ + k_, _MM_HINT_T1);
      k_ += kLineValues;
      if (k_ < depth_) continue;
      at_ += stride_, k_ = 0, --left_;
    }
  }

 private:
  const Bf16* at_;
  std::int64_t stride_, left_, depth_, k_ = 0;
};

/// The sums of `high` rows of w times all rows of x, transposed and rounded.
EK_AMX_INLINE void store_transposed(const Matmul& in, const float* sums, std::int64_t column,
                                    std::int64_t high) {
  const auto mask = avx512::tail_mask_32(high);
  alignas(64) float row[kSide];
  for (std::int64_t i = 0; i < in.rows; ++i) {
    for (std::int64_t j = 0; j < kSide; ++j) row[j] = sums[j * kSide + i];
    const auto both = _mm512_cvtne2ps_pbh(_mm512_load_ps(row + kTile), _mm512_load_ps(row));
    _mm512_mask_storeu_epi16(in.y + i * in.y_stride + column, mask,
                             reinterpret_cast<__m512i>(both));
  }
}

/// Columns [column, column + high) of y.
template <int kWide>
EK_AMX_INLINE void multiply_columns(const Matmul& in, std::int64_t column, std::int64_t high) {
  alignas(64) float sums[kSide * kSide];
  alignas(64) Bf16 padded[kSide * kSide];
  using Tiles = TileSums<2, kWide>;
  const Bf16* const w = in.w + column * in.w_stride;
  const std::int64_t panel = up_to(kSide, in.depth) / 2 * kTile;
  // Most often this thread goes on with them, also after the last column.
  RowPrefetch next(w + high * in.w_stride, in.w_stride, kSide, in.depth);
  // Tile instructions access memory that the compiler does not see.
  asm volatile("" ::: "memory");
  Tiles::clear();
  for (std::int64_t k = 0; k < in.depth; k += kSide) {
    LeftOperand left = {w + k, in.w_stride};
    if (high < kSide || k + kSide > in.depth) {
      asm volatile("" ::: "memory");
      copy_rows({{w + k, in.w_stride}, 0, high, kSide, in.depth - k}, kSide, padded);
      asm volatile("" ::: "memory");
      left = {padded, kSide};
    }
    Tiles::add(left, {in.x + k / 2 * kTile, panel}, kSide);
    next.lines(kSide);
  }
  Tiles::store(sums, kSide);
  asm volatile("" ::: "memory");
  store_transposed(in, sums, column, high);
}

}  // namespace

std::int64_t few_rows_amx_pairs(std::int64_t rows, std::int64_t depth) {
  return up_to(kTile, rows) * up_to(kSide, depth) / 2;
}

EK_AMX void few_rows_amx_operand(const Bf16* x, std::int64_t rows, std::int64_t depth,
                                 std::uint32_t* pairs) {
  pack_as_columns({{x, depth}, 0, rows, up_to(kTile, rows), depth}, up_to(kSide, depth), pairs);
}

EK_AMX void few_rows_matmul_amx(const Matmul& in, std::int64_t begin, std::int64_t end) {
  const AmxTiles tiles;
  for (auto column = begin; column < end; column += kSide) {
    const auto high = std::min(kSide, end - column);
    in.rows > kTile ? multiply_columns<2>(in, column, high) : multiply_columns<1>(in, column, high);
  }
}

}  // namespace evenkeel::kernels::cpu
