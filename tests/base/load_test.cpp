// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/load.h"

#include <gtest/gtest.h>

#include <chrono>

namespace evenkeel {
namespace {

TEST(Ticks, AreReadFromTheFirstLine) {
  const auto ticks = ticks_in("cpu  100 20 30 1000 40 5 6 7 0 0\ncpu0 1 2 3 4\n");
  ASSERT_TRUE(ticks.has_value());
  EXPECT_EQ(ticks->busy, 161);  // user, nice, system, interrupts
  EXPECT_EQ(ticks->idle, 1040);
  EXPECT_EQ(ticks->stolen, 7);
}

TEST(Ticks, AreNoneInAnotherText) {
  EXPECT_FALSE(ticks_in("").has_value());
  EXPECT_FALSE(ticks_in("intr 1 2 3 4 5 6 7 8 9").has_value());
  EXPECT_FALSE(ticks_in("cpu  1 2 3").has_value());
}

// What this process does itself is no load.
TEST(Load, DoesNotCountItsOwnWork) {
  const Load load;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(300)) {
  }
  const auto others = load.others();
  if (!others) GTEST_SKIP() << "the kernel does not say";
  EXPECT_GE(*others, 0);
  EXPECT_LT(*others, 1);
}

}  // namespace
}  // namespace evenkeel
