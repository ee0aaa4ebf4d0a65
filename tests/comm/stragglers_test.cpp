// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/stragglers.h"

#include <gtest/gtest.h>

namespace evenkeel::comm {
namespace {

TEST(Stragglers, NamesTheSlowRankAfterFiftySteps) {
  Stragglers stragglers(4);
  for (int step = 1; step < 50; ++step) EXPECT_FALSE(stragglers.add({1, 1.1, 1.54, 1}));
  const auto found = stragglers.add({1, 1.1, 1.54, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(straggler_text(*found, "a2"),
            "rank 2 (a2) took 1.5 times the median of the others in 50 steps");
}

TEST(Stragglers, IgnoresASingleSlowStep) {
  Stragglers stragglers(2);
  for (int step = 1; step <= 200; ++step)
    EXPECT_FALSE(stragglers.add({1, step % 50 == 0 ? 10.0 : 1.0})) << step;
  for (int step = 1; step < 50; ++step) EXPECT_FALSE(stragglers.add({2, 1}));
  EXPECT_EQ(stragglers.add({2, 1})->rank, 0);
}

TEST(Stragglers, NeedSeveralRanks) {
  Stragglers stragglers(1);
  for (int step = 1; step <= 100; ++step) EXPECT_FALSE(stragglers.add({1}));
}

}  // namespace
}  // namespace evenkeel::comm
