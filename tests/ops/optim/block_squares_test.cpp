// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/block_squares.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/optim/sum_of_squares.h"

namespace evenkeel {
namespace {

TEST(BlockSquares, OfPiecesGiveTheBitsOfTheSum) {
  constexpr std::int64_t kBlock = 65'536;
  at::manual_seed(3);
  for (const std::int64_t count : {0L, 1L, kBlock, kBlock + 1, 5 * kBlock + 17, 8 * kBlock}) {
    const auto x = at::randn({count}, at::kFloat);
    auto sums = ops::block_squares(x);
    EXPECT_EQ(sums.size(), ops::square_blocks(count));
    EXPECT_EQ(ops::tree_sum(sums), ops::sum_of_squares(x)) << count;
    if (count < 2 * kBlock) continue;
    auto pieces = ops::block_squares(x.narrow(0, 0, 2 * kBlock));
    const auto rest = ops::block_squares(x.narrow(0, 2 * kBlock, count - 2 * kBlock));
    pieces.insert(pieces.end(), rest.begin(), rest.end());
    EXPECT_EQ(pieces, sums);
  }
}

/// The sum of the squares of a block in the binary tree over its values.
double tree_of_block(const at::Tensor& block) {
  auto values = block.to(at::kDouble).square();
  for (auto half = values.numel() / 2; half > 0; half /= 2) {
    values = values.narrow(0, 0, half) + values.narrow(0, half, half);
  }
  return values.item<double>();
}

TEST(BlockSquares, OfAGpuAreTheTreeOverTheValuesOfABlock) {
  constexpr std::int64_t kBlock = 65'536;
  at::manual_seed(4);
  const auto x = at::randn({300 * kBlock + 17}, at::kFloat);  // more rows than are added at once
  const auto x_before = x.clone();
  const auto sums = ops::block_squares_of_device(x);
  ASSERT_EQ(sums.size(), 301U);
  for (const std::int64_t block : {0, 255, 256, 299}) {
    EXPECT_EQ(sums[static_cast<std::size_t>(block)],
              tree_of_block(x.narrow(0, block * kBlock, kBlock)));
  }
  const auto piece = ops::block_squares_of_device(x.narrow(0, 299 * kBlock, kBlock + 17));
  EXPECT_EQ(piece, (std::vector<double>{sums[299], sums[300]}));
  EXPECT_NEAR(ops::tree_sum(sums) / ops::sum_of_squares(x), 1, 1e-14);
  EXPECT_TRUE(at::equal(x, x_before));
  EXPECT_TRUE(ops::block_squares_of_device(x.narrow(0, 0, 0)).empty());
  const auto wide = x.narrow(0, 0, kBlock).to(at::kDouble);
  EXPECT_EQ(ops::block_squares_of_device(wide).front(), sums.front());
  EXPECT_TRUE(at::equal(wide, x.narrow(0, 0, kBlock)));  // not squared in place
}

}  // namespace
}  // namespace evenkeel
