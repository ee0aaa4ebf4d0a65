// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/bf16_product_amx.h"

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/amx_gemm.h"
#include "evenkeel/kernels/reduction_order.h"

/// The rows of x are copied tile by tile and stay in the level-2 cache. The depth is split into
/// chunks: a chunk of a panel of w stays in the level-1 cache while it is multiplied with all rows.
/// Squares of 2 x 2 tiles wait in scratch between chunks. They are rounded and stored some rows at
/// a time between the products of the next square: many stores at once would delay its loads.
namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kSide = kTwoTiles;         // side of a square of sums
constexpr std::int64_t kSquare = kSide * kSide;   // values of two tiles of an operand, too
constexpr std::int64_t kMostSteps = 12;           // of a chunk; a step is kSide terms
constexpr std::int64_t kStepPairs = kSquare / 2;  // of a panel
constexpr std::int64_t kLinePairs = 16;           // of a cache line
static_assert(Bf16Product::kPanel == kSide && kAmxProductRows == kSide);

std::int64_t steps_of(const Bf16Product& in) {
  return blocks_of(in.depth, kSide);
}

/// Steps of a chunk: chunks of about one size.
std::int64_t chunk_of(std::int64_t steps) {
  return blocks_of(steps, blocks_of(steps, kMostSteps));
}

struct Scratch {
  Bf16* left = nullptr;       // [chunks, squares, steps of the chunk, kSquare]
  float* waiting = nullptr;   // [squares, kSquare]
  float* computed = nullptr;  // [2, kSquare]

  Scratch(const Bf16Product& in, std::int64_t rows, void* memory) {
    const auto all = up_to(kSide, rows);
    left = static_cast<Bf16*>(memory);
    waiting = reinterpret_cast<float*>(left + all * steps_of(in) * kSide);
    computed = waiting + all * kSide;
  }
};

/// Copies rows of x, a chunk after the other, as tiles.
EK_AMX_INLINE void copy_left(const Bf16Product& in, const ProductRange& rows, std::int64_t chunk,
                             Bf16* left) {
  const auto steps = steps_of(in), count = rows.last - rows.first, all = up_to(kSide, count);
  const RowBlock from = {{in.x, in.x_stride}, rows.first, count, all, in.depth};
  for (std::int64_t i = 0; i < all; ++i) {
    prefetch(from, i + 2, 1, 0, 1);
    Bf16* const tile_row = left + i % kSide * (kSquare / kSide);
    for (std::int64_t first = 0; first < steps; first += chunk) {
      const auto wide = std::min(chunk, steps - first);
      Bf16* const to = tile_row + (first * (all / kSide) + i / kSide * wide) * kSquare;
      for (std::int64_t k = 0; k < wide; ++k) {
        _mm512_store_si512(to + k * kSquare, row_values(from, i, (first + k) * kSide));
      }
    }
  }
}

/// A computed square of sums that is not stored in y yet.
struct OutputSquare {
  const float* sums = nullptr;
  Bf16* to = nullptr;
  std::int64_t stride = 0, rows = 0, columns = 0;
  bool is_added = false, is_streamed = false;
};

EK_AMX_INLINE void store_rows(const OutputSquare& square, std::int64_t first, std::int64_t last) {
  const auto mask = avx512::tail_mask_32(square.columns);
  for (auto i = first; i < std::min(last, square.rows); ++i) {
    const float* const row = square.sums + i * kSide;
    Bf16* const to = square.to + i * square.stride;
    __m512 low = _mm512_load_ps(row), high = _mm512_load_ps(row + kTile);
    if (square.is_added) {
      low = _mm512_add_ps(low, avx512::load_16(to, avx512::tail_mask_16(square.columns)));
      high = _mm512_add_ps(
          high, avx512::load_16(to + kTile, avx512::tail_mask_16(square.columns - kTile)));
    }
    const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
    if (square.is_streamed) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), both);
    } else {
      _mm512_mask_storeu_epi16(to, mask, both);
    }
  }
}

/// Adds one step to the sums in tiles 0 to 3.
EK_AMX_INLINE void add_step(const Bf16* left, const std::uint32_t* right) {
  constexpr std::int64_t kBytes = kTile * 4;
  _tile_loadd(6, right, kBytes);
  _tile_stream_loadd(4, left, kBytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, right + kStepPairs / 2, kBytes);
  _tile_dpbf16ps(1, 4, 7);
  _tile_stream_loadd(5, left + kSquare / 2, kBytes);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

/// One chunk of a panel of w.
struct Chunk {
  const std::uint32_t* pairs = nullptr;
  const Bf16* left = nullptr;
  std::int64_t steps = 0;
  bool is_first = true, is_last = true;  // of this product
};

/// What is computed for a panel of w: all rows, chunk after chunk.
class PanelOfRows {
 public:
  EK_AMX_INLINE PanelOfRows(const Bf16Product& in, const ProductRange& rows, const Scratch& scratch)
      : in_(in),
        rows_(rows),
        scratch_(scratch),
        squares_(blocks_of(rows.last - rows.first, kSide)) {}

  EK_AMX_INLINE void multiply(const std::uint32_t* pairs, std::int64_t column) {
    const auto steps = steps_of(in_), chunk = chunk_of(steps);
    for (std::int64_t first = 0; first < steps; first += chunk) {
      const auto wide = std::min(chunk, steps - first);
      multiply_chunk({.pairs = pairs + first * kStepPairs,
                      .left = scratch_.left + first * squares_ * kSquare,
                      .steps = wide,
                      .is_first = first == 0,
                      .is_last = first + wide == steps},
                     column);
    }
  }

  /// Stores the last square.
  EK_AMX_INLINE void finish() {
    asm volatile("" ::: "memory");
    store_rows(pending_, 0, kSide);
    pending_ = {};
  }

 private:
  /// Columns of `sums`, and the sums of a square in it.
  EK_AMX_INLINE std::int64_t sums_stride() const { return in_.panels() * kSide; }
  EK_AMX_INLINE float* sums(std::int64_t square, std::int64_t column) const {
    return in_.sums + (rows_.first + square * kSide) * sums_stride() + column;
  }

  EK_AMX_INLINE void multiply_chunk(const Chunk& chunk, std::int64_t column) {
    const bool is_begun = chunk.is_first && !in_.is_first;  // by an earlier product
    const bool is_done = chunk.is_last && in_.is_last;
    const auto each = is_done ? blocks_of(kSide, chunk.steps) : 0;
    const auto ahead = blocks_of(kSide, squares_);  // lines of the next chunk for a step
    const std::uint32_t* next = chunk.pairs + chunk.steps * kStepPairs;
    for (std::int64_t square = 0; square < squares_; ++square) {
      float* const waiting = scratch_.waiting + square * kSquare;
      // Tile instructions access memory that the compiler does not see.
      asm volatile("" ::: "memory");
      if (is_begun) {
        TileSums<2, 2>::load(sums(square, column), sums_stride());
      } else if (chunk.is_first) {
        TileSums<2, 2>::clear();
      } else {
        TileSums<2, 2>::load(waiting, kSide);
      }
      const Bf16* const left = chunk.left + square * chunk.steps * kSquare;
      for (std::int64_t k = 0; k < chunk.steps; ++k) {
        add_step(left + k * kSquare, chunk.pairs + k * kStepPairs);
        if (each > 0) store_rows(pending_, k * each, (k + 1) * each);
        for (std::int64_t i = 0; i < ahead; ++i, next += kLinePairs) {
          _mm_prefetch(next, _MM_HINT_T1);
        }
      }
      if (is_done) {
        begin_output(square, column);
      } else if (chunk.is_last) {
        TileSums<2, 2>::store(sums(square, column), sums_stride());
      } else {
        TileSums<2, 2>::store(waiting, kSide);
      }
    }
  }

  EK_AMX_INLINE void begin_output(std::int64_t square, std::int64_t column) {
    float* const to = scratch_.computed + which_ * kSquare;
    which_ = 1 - which_;
    TileSums<2, 2>::store(to, kSide);
    const auto row = rows_.first + square * kSide;
    pending_ = {to,
                in_.y + row * in_.y_stride + column,
                in_.y_stride,
                std::min(kSide, rows_.last - row),
                std::min(kSide, in_.columns - column),
                in_.is_added,
                in_.non_temporal && in_.is_cache_line(column)};
  }

  const Bf16Product& in_;
  const ProductRange rows_;
  const Scratch scratch_;
  const std::int64_t squares_;
  OutputSquare pending_;
  int which_ = 0;
};

/// Packs kSide terms of a panel.
EK_AMX_INLINE void pack_step(const Bf16Product& in, std::int64_t panel, std::int64_t step,
                             std::uint32_t* pairs) {
  const auto first = panel * kSide, wide = std::min(kSide, in.columns - first);
  const auto k = step * kSide, deep = std::min(kSide, in.depth - k);
  std::uint32_t* const to = pairs + panel * in.panel_pairs() + step * kStepPairs;
  if (in.is_transposed) {
    pack_as_columns({{in.w + k, in.w_stride}, first, wide, kSide, deep}, kSide, to);
  } else {
    pack_as_rows({{in.w + first, in.w_stride}, k, deep, kSide, wide}, kSide, to, kStepPairs / 2);
  }
}

}  // namespace

EK_AMX void pack_panels_amx(const Bf16Product& in, const ProductRange& panels,
                            std::uint32_t* pairs) {
  if (in.is_transposed) {  // along the rows of w
    for (auto panel = panels.first; panel < panels.last; ++panel) {
      for (std::int64_t step = 0; step < steps_of(in); ++step) pack_step(in, panel, step, pairs);
    }
    return;
  }
  for (std::int64_t step = 0; step < steps_of(in); ++step) {
    for (auto panel = panels.first; panel < panels.last; ++panel) pack_step(in, panel, step, pairs);
  }
}

std::int64_t amx_product_scratch(const Bf16Product& in, std::int64_t rows) {
  const auto all = up_to(kSide, rows);
  return 2 * all * steps_of(in) * kSide + 4 * (all * kSide + 2 * kSquare);
}

EK_AMX void multiply_panels_amx(const Bf16Product& in, const std::uint32_t* pairs,
                                const ProductRange& rows, const ProductRange& panels,
                                void* memory) {
  const AmxTiles tiles;
  const Scratch scratch(in, rows.last - rows.first, memory);
  copy_left(in, rows, chunk_of(steps_of(in)), scratch.left);
  PanelOfRows block(in, rows, scratch);
  for (auto panel = panels.first; panel < panels.last; ++panel) {
    block.multiply(pairs + panel * in.panel_pairs(), panel * kSide);
  }
  block.finish();
  _mm_sfence();  // orders the non-temporal stores before later stores of this thread
}

}  // namespace evenkeel::kernels::cpu
