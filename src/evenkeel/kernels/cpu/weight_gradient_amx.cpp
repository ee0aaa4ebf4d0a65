// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/weight_gradient_amx.h"

#if defined(__x86_64__)

#include <algorithm>

#include "evenkeel/kernels/cpu/amx_pack.h"

/// Blocks of both factors are packed and stay in the second-level cache; sums go to memory in
/// squares of two tiles by two.
namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kSide = kTwoTiles;            // of a square
constexpr std::int64_t kBlock = 512;                 // rows and columns of a block
constexpr std::int64_t kLeftStride = kBlock + 32;    // from row to row: no power of two
constexpr std::int64_t kPanel = kBlock / 2 * kTile;  // of the right factor, in pairs
constexpr std::int64_t kLeftBytes = kBlock * kLeftStride * 2, kRightBytes = kBlock * kBlock * 2;

/// A block of the gradient, at its first sum.
struct Block {
  float* sum = nullptr;
  std::int64_t stride = 0, rows = 0, columns = 0;
};

/// Asks for a square, to be written.
EK_LANES void prefetch_square(const Block& block) {
  for (std::int64_t i = 0; i < std::min(kSide, block.rows); ++i) {
    const float* const row = block.sum + i * block.stride;
    __builtin_prefetch(row, /*rw=*/1);
    __builtin_prefetch(row + std::min(kTile, block.columns - 1), /*rw=*/1);
  }
}

/// The first square of a block, or what of it there is, (+)= left right.
template <bool kAdd>
EK_LANES void add_square(const AmxLeft& left, const AmxRight& right, std::int64_t depth,
                         const Block& block) {
  if (block.rows >= kSide && block.columns >= kSide) {
    multiply_tiles<kAdd, 2, 2>(left, right, block.sum, block.stride, depth);
    return;
  }
  alignas(64) float square[kSide * kSide] = {};
  const auto rows = std::min(kSide, block.rows), columns = std::min(kSide, block.columns);
  for (std::int64_t i = 0; kAdd && i < rows; ++i) {
    std::copy_n(block.sum + i * block.stride, columns, square + i * kSide);
  }
  asm volatile("" ::: "memory");  // the compiler does not know what tiles read and write
  multiply_tiles<kAdd, 2, 2>(left, right, square, kSide, depth);
  asm volatile("" ::: "memory");
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(square + i * kSide, columns, block.sum + i * block.stride);
  }
}

template <bool kAdd>
EK_LANES void add_block(const Bf16* left, const std::uint32_t* right, std::int64_t depth,
                        const Block& block) {
  asm volatile("" ::: "memory");
  for (std::int64_t n = 0; n < block.columns; n += kSide) {
    const AmxRight columns = {right + n / kTile * kPanel, kPanel};
    for (std::int64_t m = 0; m < block.rows; m += kSide) {
      const auto square_at = [&](std::int64_t row, std::int64_t column) {
        return Block{block.sum + row * block.stride + column, block.stride, block.rows - row,
                     block.columns - column};
      };
      const bool is_last = m + kSide >= block.rows;
      if (!is_last || n + kSide < block.columns) {
        prefetch_square(is_last ? square_at(0, n + kSide) : square_at(m + kSide, n));
      }
      add_square<kAdd>({left + m * kLeftStride, kLeftStride}, columns, depth, square_at(m, n));
    }
  }
}

/// Rows [first, first + count) of a factor, and of them columns [column, column + width).
SomeRows block_of(const Bf16* factor, std::int64_t stride, std::int64_t first, std::int64_t count,
                  std::int64_t column, std::int64_t width) {
  return {{factor + column, stride}, first, count, up_to(kSide, count), width};
}

}  // namespace

std::int64_t WeightGradient::scratch() {
  return kLeftBytes + kRightBytes;
}

EK_AMX void add_weight_gradient_amx(const WeightGradient& of, void* scratch) {
  const AmxTiles tiles;
  auto* const left = static_cast<Bf16*>(scratch);
  auto* const right = reinterpret_cast<std::uint32_t*>(static_cast<char*>(scratch) + kLeftBytes);
  for (std::int64_t n = 0; n < of.columns; n += kBlock) {
    const auto columns = std::min(kBlock, of.columns - n);
    for (std::int64_t k = 0; k < of.count; k += kBlock) {
      const auto count = std::min(kBlock, of.count - k), depth = up_to(kSide, count);
      pack_as_rows(block_of(of.x, of.x_stride, k, count, n, columns), up_to(kSide, columns), right,
                   kPanel);
      for (std::int64_t m = 0; m < of.rows; m += kBlock) {
        const auto rows = std::min(kBlock, of.rows - m);
        copy_transposed(block_of(of.dy, of.dy_stride, k, count, m, rows), up_to(kSide, rows), left,
                        kLeftStride);
        const Block block = {of.sum + m * of.sum_stride + n, of.sum_stride, rows, columns};
        if (k == 0 && of.is_first) {
          add_block<false>(left, right, depth, block);
        } else {
          add_block<true>(left, right, depth, block);
        }
      }
    }
  }
}

}  // namespace evenkeel::kernels::cpu

#endif
