// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_patch.h"

#include <gtest/gtest.h>

#include "config/scheme/scheme_of.h"

namespace evenkeel::config {
namespace {

using Blocks = std::vector<std::int64_t>;

/// The blocks of `layers` that `where = ...` names.
Blocks named(const std::string& where, std::int64_t layers = 12) {
  const auto table = toml::parse("where = " + where);
  const Patch patch{&table, {"test", "layers[0]"}};
  Blocks blocks;
  for (std::int64_t l = 1; l <= layers; ++l) {
    if (selects(patch, l, tiny_shape(layers))) blocks.push_back(l);
  }
  return blocks;
}

TEST(Where, CountsFromEitherEnd) {
  EXPECT_EQ(named("'first(1)'"), Blocks({1}));
  EXPECT_EQ(named("'last(2)'"), Blocks({11, 12}));
  EXPECT_EQ(named("'first(N/6)'"), Blocks({1, 2}));
  EXPECT_EQ(named("'first(max(1, N/4))'"), Blocks({1, 2, 3}));
  EXPECT_EQ(named("'first(0)'"), Blocks());
}

TEST(Where, TakesFractionsOfTheDepth) {
  EXPECT_EQ(named("'fraction(0, 0.25)'"), Blocks({1, 2, 3}));
  EXPECT_EQ(named("'fraction(0.75, 1)'"), Blocks({10, 11, 12}));
  EXPECT_EQ(named("'fraction(0, 0.25)'", 3), Blocks());
}

TEST(Where, DoesNotLoseABlockToRounding) {
  EXPECT_EQ(named("'fraction(0, 0.29)'", 100).size(), 29u) << "0.29 * 100 is 28.999999999999996";
}

TEST(Where, TakesEveryKthBlock) {
  EXPECT_EQ(named("'every(4)'"), Blocks({1, 5, 9}));
  EXPECT_EQ(named("'every(4, 3)'"), Blocks({4, 8, 12}));
}

TEST(Where, TakesAList) {
  EXPECT_EQ(named("[2, 5]"), Blocks({2, 5}));
  EXPECT_EQ(named("[2, 5]", 3), Blocks({2}));
}

TEST(Patches, ApplyInOrderAndLaterOnesWin) {
  const auto scheme = scheme_of(R"(attention.softcap = 1
                                   [[layers]]
                                   where = 'first(2)'
                                   attention.softcap = 2
                                   [[layers]]
                                   where = [2, 3]
                                   attention = { softcap = 3, input = 'norm' })");
  const auto cap = [&](std::size_t i) { return scheme.blocks[i].attention.softcap->formula(); };
  EXPECT_EQ(cap(0) + cap(1) + cap(2) + cap(3), "2331");
  EXPECT_FALSE(scheme.blocks[0].attention.input);
  EXPECT_TRUE(scheme.blocks[1].attention.input);
}

TEST(Patches, MayChangeOneKeyOfALearnedValueAndDropADamp) {
  const auto scheme = scheme_of(R"(damp = { learned = 'scalar', init = 0, through = 'silu' }
                                   attention.branch_scale = { learned = 'vector', init = 0.1 }
                                   [[layers]]
                                   where = 'last(1)'
                                   damp = 'none'
                                   attention.branch_scale = { init = 0.5 })");
  const auto& add = scheme.blocks[3].attention.add;
  EXPECT_EQ(std::get<norm::Learned>(add.branch_scale).size, norm::Learned::Size::vector);
  EXPECT_EQ(std::get<norm::Learned>(add.branch_scale).init.formula(), "0.5");
  EXPECT_FALSE(scheme.blocks[3].damp);
  EXPECT_TRUE(scheme.blocks[2].damp);
}

TEST(Patches, HybridNormStarDiffersFromHybridNormInBlockOneOnly) {
  const auto star = bind(find_scheme("hybrid_norm_star"), tiny_shape(4));
  const auto plain = bind(find_scheme("hybrid_norm"), tiny_shape(4));
  EXPECT_FALSE(star.blocks[0] == plain.blocks[0]);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(star.blocks[i] == plain.blocks[i]) << i;
}

TEST(Patches, MixLnIsPostNormForTheFirstQuarterOfTheDepth) {
  const auto scheme = bind(find_scheme("mix_ln"), tiny_shape(12));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(scheme.blocks[i].attention.residual.has_value(), i < 3) << i;
    EXPECT_EQ(scheme.blocks[i].feed_forward.input.has_value(), i >= 3) << i;
  }
}

}  // namespace
}  // namespace evenkeel::config
