// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/footprint.h"

#include <gtest/gtest.h>

#include <utility>

#include "evenkeel/config/scheme/scheme.h"
#include "support/shapes.h"

namespace evenkeel {
namespace {

// HybridNorm* with 2 blocks of width 8, heads of 4 (2 query, 1 key), inner width 12:
//   embedding               10 * 8                               =   80
//   matrices   2 * (16 * 8 + 8 * 8 + 24 * 8 + 8 * 12)            =  960
//   gains      8 + 3 * 4 + 8, then 3 * 4 + 8, and 8 at the end   =   56
nn::Footprint footprint(const nn::FootprintOptions& options, bool tied = true,
                        const char* scheme = "hybrid_norm_star") {
  return nn::footprint(config::bind(config::find_scheme(scheme), testing::countable_shape()), 10,
                       tied, options);
}

/// Bytes that are not kept where norms are computed again, of 4 tokens in float32.
double dropped(const char* scheme) {
  const auto all = footprint({.recompute = nn::Recompute::none}, true, scheme);
  return all.activations - footprint({.recompute = nn::Recompute::norms}, true, scheme).activations;
}

TEST(Footprint, HoldsFourFloatsAParameterInFloat32) {
  const auto bytes = footprint({.compute_bytes = 4});
  EXPECT_EQ(bytes.weights, 1096 * 4);
  EXPECT_EQ(bytes.gradients, 1096 * 4);
  EXPECT_EQ(bytes.moments, 2 * 1096 * 4);
}

// Masters, gradients and moments are float32; matrices have bfloat16 copies, gains have not.
TEST(Footprint, HoldsMastersBesideBfloat16Copies) {
  const auto bytes = footprint({.compute_bytes = 2});
  EXPECT_EQ(bytes.weights, 1096 * 4 + 1040 * 2);
  EXPECT_EQ(bytes.gradients, 1096 * 4);
  EXPECT_EQ(bytes.moments, 2 * 1096 * 4);
}

TEST(Footprint, HoldsDoublesInFloat64) {
  const auto bytes = footprint({.compute_bytes = 8});
  EXPECT_EQ(bytes.weights, 1096 * 8);
  EXPECT_EQ(bytes.gradients, 1096 * 8);
  EXPECT_EQ(bytes.moments, 2 * 1096 * 8);
}

// A second part's gradient of the head is made beside the sum of all.
TEST(Footprint, HoldsASecondHeadGradientUnderAccumulation) {
  const auto second_gradient = footprint({.accumulation_steps = 2}).temporary -
                               footprint({.accumulation_steps = 1}).temporary;
  EXPECT_EQ(second_gradient, 80 * 4);
}

TEST(Footprint, CountsAHeadOfItsOwn) {
  EXPECT_EQ(footprint({.compute_bytes = 4}, /*tied=*/false).weights, (1096 + 80) * 4);
}

// HybridNorm*: block 1 has a norm before attention, each block one before the feed-forward, of
// width 8; 4 tokens.
TEST(Footprint, DropsNormOutputsThatAreRecomputed) {
  EXPECT_EQ(dropped("hybrid_norm_star"), 4 * 4 * 3 * 8);
  EXPECT_LT(footprint({.recompute = nn::Recompute::block}).activations, footprint({}).activations);
}

// Of 4 tokens in float32: 12 values behind silu and 12 behind the gate in each block; and two steps
// of each norm, of 8 + 8 + 4 + 4 + 8 values in block 1 and 8 + 4 + 4 + 8 in block 2.
TEST(Footprint, CountsWhatFormulasSave) {
  const auto more = footprint({.fused = false}).activations - footprint({}).activations;
  EXPECT_EQ(more, 4 * 4 * (2 * 2 * 12 + 2 * (32 + 24)));
}

// A norm over the batch moves a state, and in SiameseNorm a half reads norm(x + norm(y)).
TEST(Footprint, SavesWhatIsNotRecomputed) {
  EXPECT_EQ(dropped("batch_norm"), 0);
  EXPECT_EQ(dropped("siamese_norm"), 0);
  EXPECT_EQ(dropped("pre_norm"), 4 * 4 * 4 * 8);
}

// Beside Pre-Norm, each half of SiameseNorm has a norm of y, which keeps y, and one of the sum.
TEST(Footprint, CountsTheSecondStreamThatSublayersRead) {
  const auto one = footprint({}, true, "pre_norm").activations;
  const auto both = footprint({}, true, "siamese_norm").activations;
  EXPECT_EQ(both - one, 4 * 4 * 2 * 2 * (8 + 8));
}

TEST(Footprint, CountsTheBranchOfASphereStep) {
  const auto step = config::bind(config::find_scheme("geo_norm"), testing::countable_shape());
  auto sum = step;
  for (auto& block : sum.blocks) {
    block.attention.add.update = block.feed_forward.add.update = norm::Update::add;
  }
  const auto kept = [](const norm::Scheme& of) {
    return nn::footprint(of, 10, true, {}).activations;
  };
  EXPECT_EQ(kept(step) - kept(sum), 4 * 4 * 2 * 2 * 8);  // a branch of 8 values for each half
}

TEST(Footprint, GrowsWithTheMicroBatchByItsActivations) {
  const auto one = footprint({.micro_batch_size = 1});
  const auto three = footprint({.micro_batch_size = 3});
  EXPECT_EQ(three.activations, 3 * one.activations);
  EXPECT_EQ(three.weights, one.weights);
}

// A table has 4 positions for each of 4 tokens and 2 heads. Each of 2 blocks keeps its weights,
// beside bfloat16 rounded, too; three tables come and go.
TEST(Footprint, CountsMaterializedScores) {
  constexpr double kScores = 4 * 4 * 2;
  const auto more = [](std::int64_t bytes) {
    const auto materialized = footprint({.compute_bytes = bytes, .explicit_attention = true});
    const auto tiles = footprint({.compute_bytes = bytes});
    return std::pair(materialized.activations - tiles.activations,
                     materialized.temporary - tiles.temporary);
  };
  EXPECT_EQ(more(4), std::pair(2 * kScores * 4, 3 * kScores * 4));
  EXPECT_EQ(more(2), std::pair(2 * kScores * (4 + 2), 3 * kScores * 4));
}

}  // namespace
}  // namespace evenkeel
