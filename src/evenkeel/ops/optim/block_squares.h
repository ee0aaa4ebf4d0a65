// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

/// sum_of_squares() in two parts, so that several processes can compute the first one.
namespace evenkeel::ops {

/// The sum of squares of each block of kernels::kBlockValues values, in float64. A flat tensor that
/// is cut at multiples of kBlockValues has the blocks of its pieces. The order of a block's sum
/// depends on the device alone: on a GPU it is the binary tree over the values.
/// \param x  [n], float32, bfloat16 or float64, contiguous
/// \return [ceil(n / kBlockValues)]
std::vector<double> block_squares(const at::Tensor& x);

/// The length of block_squares() of `count` values.
std::size_t square_blocks(std::int64_t count);

/// block_squares() as it is computed on a GPU, by tensor operations on any device.
std::vector<double> block_squares_of_device(const at::Tensor& x);

/// The sum of the blocks' sums in the binary tree of kernels/reduction_order.h: on a CPU the bits
/// of sum_of_squares() for block_squares(). An empty list gives 0.
double tree_sum(std::vector<double> sums);

}  // namespace evenkeel::ops
