// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace evenkeel::ops {

/// The largest size of the blocks of a matrix product; those at the end of an axis are smaller.
struct MatmulBlockSize {
  std::int64_t rows = 1, columns = 1;
};

/// The blocks that deterministic_matmul_out() splits a result into. A function of the shapes alone:
/// the number of threads must not change a block.
///
/// Halves the longer side while it is 1024 or more. Makes four blocks of smaller products if each
/// has about 16 MFLOP or more, a few tenths of a millisecond on one core. Smaller blocks would read
/// and pack their operands more often: on two cores, a step with sixteen blocks took 5 to 8 % more.
MatmulBlockSize matmul_block_size(std::int64_t rows, std::int64_t columns, std::int64_t depth);

/// \throws c10::Error, which begins with [deterministic_matmul], unless y, x and w fit together
void check_matmul_out(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

}  // namespace evenkeel::ops
