// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The summation order of all kernels over rows or over flat buffers, on every device: blocks of a
/// fixed size, each summed from its first to its last, then a binary tree over the blocks. The bits
/// of a sum do not depend on the number of threads.
///
///   blocks   0   1   2   3   4
///            0+1     2+3     4
///            0..3            4
///            0..4
namespace evenkeel::kernels {

/// Gradients of gains and biases: rows per block.
inline constexpr std::int64_t kBlockRows = 64;

/// Sums over flat buffers: values per block.
inline constexpr std::int64_t kBlockValues = std::int64_t{1} << 16;

/// The number of blocks of `size` for `count` items.
constexpr std::int64_t blocks_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace evenkeel::kernels
