// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/block_reduction.h"

#include <gtest/gtest.h>

#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::wavy;

TEST(BlocksOf, CountsAPartialLastBlock) {
  EXPECT_EQ(blocks_of(0, 64), 0);
  EXPECT_EQ(blocks_of(64, 64), 1);
  EXPECT_EQ(blocks_of(65, 64), 2);
}

TEST(SumOfSquares, AddsEveryValueAtEveryCount) {
  double expected = 0;
  const auto values = wavy<float>(70, 0.3);
  for (std::size_t count = 0; count <= 70; ++count) {
    if (count > 0) expected += std::pow(exact(values)[count - 1], 2);
    EXPECT_NEAR(sum_of_squares(values.data(), static_cast<std::int64_t>(count)), expected, 1e-13);
  }
}

TEST(SumOfSquares, DoesNotOverflowForFloats) {
  const std::vector<float> values(100, 3e38F);
  EXPECT_NEAR(sum_of_squares(values.data(), 100) / 9e78, 1, 1e-7);
}

// ((0 + 1) + (2 + 3)) + 4: adding 1 to 2^53 has no effect, so the sum shows the order of additions.
// From left to right the sum is 0.5.
TEST(TreeSum, AddsNeighboursFirst) {
  std::vector<double> sums{1, 0x1p53, 1, -0x1p53, 0.5};  // five blocks of width 1
  tree_sum(sums.data(), 5, 1, 0, 1);
  EXPECT_EQ(sums[0], 1.5);
}

TEST(TreeSum, TouchesOnlyItsColumns) {
  std::vector<double> sums{1, 2, 3, 10, 20, 30};  // two blocks of width 3
  tree_sum(sums.data(), 2, 3, 1, 2);
  EXPECT_EQ(sums, (std::vector<double>{1, 22, 3, 10, 20, 30}));
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
