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

}  // namespace
}  // namespace evenkeel
