// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/gemm_bf16.h"

/// The GEMM of gemm_bf16.h in AMX tiles.
namespace evenkeel::kernels::cpu {

/// Configures all eight tiles of this thread as kTile rows of 64 bytes, until the destructor. The
/// scope must not contain library calls that use tiles.
class AmxTiles {
 public:
  EK_AMX AmxTiles() { _tile_loadconfig(&kShapes); }
  EK_AMX ~AmxTiles() { _tile_release(); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

 private:
  struct alignas(64) Shapes {
    std::uint8_t palette, first_row, reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
  };
  // A member, because the compiler does not see that the instruction reads it: it would drop the
  // stores to a local variable.
  static constexpr Shapes kShapes = {
      1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
};

/// A product one or two tiles high and wide: sums in tiles 0 to 3, left operand in 4 and 5, right
/// in 6 and 7. Sums persist between calls, so that a product may be computed in pieces along k.
template <int kHigh, int kWide>
struct TileSums {
  EK_AMX_INLINE static void clear() {
    _tile_zero(0);
    if constexpr (kWide == 2) _tile_zero(1);
    if constexpr (kHigh == 2) _tile_zero(2);
    if constexpr (kHigh == 2 && kWide == 2) _tile_zero(3);
  }
  EK_AMX_INLINE static void load(const float* c, std::int64_t c_stride) {
    const std::int64_t bytes = c_stride * 4;
    const float* const below = c + kTile * c_stride;
    _tile_loadd(0, c, bytes);
    if constexpr (kWide == 2) _tile_loadd(1, c + kTile, bytes);
    if constexpr (kHigh == 2) _tile_loadd(2, below, bytes);
    if constexpr (kHigh == 2 && kWide == 2) _tile_loadd(3, below + kTile, bytes);
  }
  EK_AMX_INLINE static void store(float* c, std::int64_t c_stride) {
    const std::int64_t bytes = c_stride * 4;
    float* const below = c + kTile * c_stride;
    _tile_stored(0, c, bytes);
    if constexpr (kWide == 2) _tile_stored(1, c + kTile, bytes);
    if constexpr (kHigh == 2) _tile_stored(2, below, bytes);
    if constexpr (kHigh == 2 && kWide == 2) _tile_stored(3, below + kTile, bytes);
  }
  EK_AMX_INLINE static void add(const LeftOperand& a, const RightOperand& b, std::int64_t depth) {
    const std::int64_t a_bytes = a.stride * 2, b_bytes = kTile * 4;
    for (std::int64_t k = 0; k < depth; k += 2 * kTile) {
      const Bf16* const left = a.values + k;
      const std::uint32_t* const right = b.pairs + k / 2 * kTile;
      _tile_loadd(6, right, b_bytes);
      _tile_loadd(4, left, a_bytes);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kWide == 2) {
        _tile_loadd(7, right + b.panel, b_bytes);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (kHigh == 2) {
        _tile_loadd(5, left + kTile * a.stride, a_bytes);
        _tile_dpbf16ps(2, 5, 6);
      }
      if constexpr (kHigh == 2 && kWide == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
};

struct AmxGemm {
  using Scope = AmxTiles;

  template <bool kAdd, int kHigh, int kWide>
  EK_AMX_INLINE static void multiply_tiles(const LeftOperand& a, const RightOperand& b, float* c,
                                           std::int64_t c_stride, std::int64_t depth) {
    using Tiles = TileSums<kHigh, kWide>;
    kAdd ? Tiles::load(c, c_stride) : Tiles::clear();
    Tiles::add(a, b, depth);
    Tiles::store(c, c_stride);
  }

  /// The sums stay in the tiles between the pieces.
  template <int kHigh, int kWide>
  EK_AMX_INLINE static void multiply_piece(const LeftOperand& a, const RightOperand& b, float* c,
                                           std::int64_t c_stride, std::int64_t depth,
                                           const GemmPiece& piece) {
    using Tiles = TileSums<kHigh, kWide>;
    if (piece.is_first) piece.adds ? Tiles::load(c, c_stride) : Tiles::clear();
    Tiles::add(a, b, depth);
    if (piece.is_last) Tiles::store(c, c_stride);
  }
};

}  // namespace evenkeel::kernels::cpu
