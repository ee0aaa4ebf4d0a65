// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>

#include "kernels/emulated/bf16.h"
#include "kernels/emulated/dot_products.h"

/// The tile registers of AMX: a thread's own, and all of one shape here.

namespace emulated {

constexpr int kTiles = 8, kRowBytes = 64;

struct Tiles {
  bool are_there = false;
  TileOfSums sums[kTiles];  // or pairs of bfloat16
};
inline thread_local Tiles all_tiles;

inline auto& tile(int which) {
  if (!all_tiles.are_there) stop("a tile before its shape is known");
  return all_tiles.sums[which];
}

}  // namespace emulated

inline void _tile_loadconfig(const void* config) {
  const auto* const bytes = static_cast<const std::uint8_t*>(config);
  constexpr int kWidths = 16, kHeights = 48;
  bool is_known = bytes[0] == 1 && bytes[1] == 0;
  for (int i = 0; i < emulated::kTiles; ++i) {
    is_known = is_known && bytes[kWidths + 2 * i] == emulated::kRowBytes &&
               bytes[kWidths + 2 * i + 1] == 0 && bytes[kHeights + i] == emulated::kRows;
  }
  if (!is_known) emulated::stop("tiles of another shape");
  emulated::all_tiles = {.are_there = true, .sums = {}};
}
inline void _tile_release() {
  emulated::all_tiles.are_there = false;
}
inline void _tile_zero(int to) {
  std::memset(emulated::tile(to), 0, sizeof(emulated::tile(to)));
}
inline void _tile_loadd(int to, const void* from, long long stride) {
  for (int row = 0; row < emulated::kRows; ++row) {
    std::memcpy(emulated::tile(to)[row], static_cast<const char*>(from) + row * stride,
                emulated::kRowBytes);
  }
}
inline void _tile_stream_loadd(int to, const void* from, long long stride) {
  _tile_loadd(to, from, stride);
}
inline void _tile_stored(int from, void* to, long long stride) {
  for (int row = 0; row < emulated::kRows; ++row) {
    std::memcpy(static_cast<char*>(to) + row * stride, emulated::tile(from)[row],
                emulated::kRowBytes);
  }
}
inline void _tile_dpbf16ps(int to, int left, int right) {
  emulated::TileOfPairs a, b;
  std::memcpy(a, emulated::tile(left), sizeof a);
  std::memcpy(b, emulated::tile(right), sizeof b);
  emulated::add_tile_product(emulated::tile(to), a, b);
}
