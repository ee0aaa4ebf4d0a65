// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/nearest.h"

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

const std::vector<std::string> kKinds = {"rms_norm", "layer_norm", "dyt"};

TEST(Nearest, FindsTheWordWithFewestEdits) {
  EXPECT_EQ(nearest("rmsnorm", kKinds), "rms_norm");
}

TEST(Nearest, CountsASwapOfNeighboursAsOneEdit) {
  EXPECT_EQ(nearest("dty", kKinds), "dyt");
}

TEST(Nearest, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest("peri_ln_of_2025", kKinds), "");
}

TEST(DidYouMean, NamesTheNearestAndAllKnownWordsInOrder) {
  EXPECT_EQ(did_you_mean("rmsnorm", kKinds),
            "; did you mean \"rms_norm\"? known: dyt, layer_norm, rms_norm");
  EXPECT_EQ(did_you_mean("x", kKinds), "; known: dyt, layer_norm, rms_norm");
}

TEST(DidYouMean, SaysWhereALongListIs) {
  EXPECT_EQ(did_you_mean("rmsnorm", kKinds, "the manual lists all"),
            "; did you mean \"rms_norm\"? the manual lists all");
  EXPECT_EQ(did_you_mean("x", kKinds, "the manual lists all"), "; the manual lists all");
}

}  // namespace
}  // namespace evenkeel
