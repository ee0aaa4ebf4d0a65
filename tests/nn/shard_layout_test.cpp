// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/shard_layout.h"

#include <gtest/gtest.h>

#include "evenkeel/base/error.h"

namespace evenkeel::nn {
namespace {

constexpr std::int64_t kBlock = 65'536;

using Bounds = std::vector<std::int64_t>;

TEST(ShardLayout, CutsAtMultiplesOfABlock) {
  const ShardLayout layout({10 * kBlock + 7, 100, 0}, 4);
  EXPECT_EQ(layout.piece(0, 0), (FlatRange{0, 3 * kBlock}));
  EXPECT_EQ(layout.piece(0, 1), (FlatRange{3 * kBlock, 6 * kBlock}));
  EXPECT_EQ(layout.piece(0, 2), (FlatRange{6 * kBlock, 9 * kBlock}));
  EXPECT_EQ(layout.piece(0, 3), (FlatRange{9 * kBlock, 10 * kBlock + 7}));
  EXPECT_EQ(layout.piece(1, 0), (FlatRange{0, 100}));
  EXPECT_EQ(layout.piece(1, 3).size(), 0);
  EXPECT_EQ(layout.piece(2, 0).size(), 0);
}

TEST(ShardLayout, GivesEachRankNeighbouringPieces) {
  const ShardLayout layout({10 * kBlock + 7}, 4);
  EXPECT_EQ(layout.bounds(0, 1), Bounds({0, 10 * kBlock + 7}));
  EXPECT_EQ(layout.bounds(0, 2), Bounds({0, 6 * kBlock, 10 * kBlock + 7}));
  EXPECT_EQ(layout.owned(0, 1, 2), (FlatRange{6 * kBlock, 10 * kBlock + 7}));
  for (std::int64_t shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(layout.owned(0, shard, 4), layout.piece(0, shard));
  }
}

std::string refusal(std::int64_t shards, std::int64_t ranks, std::int64_t batch,
                    std::string_view permission = "") {
  try {
    check_shards(shards, ranks, batch, permission);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "";
}

TEST(CheckShards, AcceptsSubtreesAndOneRank) {
  EXPECT_EQ(refusal(8, 2, 8), "");
  EXPECT_EQ(refusal(12, 3, 12), "");
  EXPECT_EQ(refusal(7, 1, 7), "");
  EXPECT_EQ(refusal(3, 3, 3), "");
}

TEST(CheckShards, NamesTheNumbersThatFit) {
  EXPECT_EQ(
      refusal(8, 3, 24),
      "train.gradient_shards = 8 cannot be shared by 3 ranks: gradient_shards / ranks must be "
      "a power of two (1, 2, 4 or 8 ranks); or choose train.gradient_shards = 6");
  EXPECT_EQ(
      refusal(1, 2, 3),
      "train.gradient_shards = 1 cannot be shared by 2 ranks: gradient_shards / ranks must be "
      "a power of two (1 rank)");
}

TEST(CheckShards, SayWhatAnotherNumberNeeds) {
  EXPECT_EQ(
      refusal(1, 2, 8, " with --override train.gradient_shards"),
      "train.gradient_shards = 1 cannot be shared by 2 ranks: gradient_shards / ranks must be "
      "a power of two (1 rank); or choose train.gradient_shards = 2 with --override "
      "train.gradient_shards");
}

}  // namespace
}  // namespace evenkeel::nn
