// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/cpu_adapter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/kernels/cpu/portable/block_reduction.h"

namespace evenkeel::ops::cpu {
namespace {

/// Values of which 2^60 swallows the small ones: their sum shows the order of additions.
at::Tensor values_of_all_sizes(std::int64_t blocks, std::int64_t width) {
  const auto large = at::randint(-1, 2, {blocks, width}, at::kDouble) * 0x1p60;
  return large + at::randn({blocks, width}, at::kDouble);
}

// Parts of the tree run on several threads, and have the bits of the tree on one.
TEST(TreeSumOfBlocks, IsTheTreeToTheBitForEachNumberOfBlocks) {
  at::manual_seed(3);
  for (const std::int64_t blocks : {1, 2, 5, 63, 64, 65, 127, 128, 130, 500, 64 * 64 + 67}) {
    for (const std::int64_t width : {1, 3, 256, 300}) {
      const auto sums = values_of_all_sizes(blocks, width);
      const auto wanted = sums.clone();
      kernels::cpu::tree_sum(wanted.mutable_data_ptr<double>(), blocks, width, 0, width);
      EXPECT_TRUE(tree_sum(sums).equal(wanted[0])) << blocks << " blocks of " << width;
    }
  }
}

TEST(TreeSumOfBlocks, OfNoBlocksIsZeros) {
  EXPECT_TRUE(tree_sum(at::zeros({0, 3}, at::kDouble)).equal(at::zeros({3}, at::kDouble)));
}

}  // namespace
}  // namespace evenkeel::ops::cpu
