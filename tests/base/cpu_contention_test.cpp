// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/cpu_contention.h"

#include <gtest/gtest.h>

#include <chrono>

namespace evenkeel {
namespace {

TEST(CpuTicks, AreReadFromTheFirstLine) {
  const auto ticks = parsed_cpu_ticks("cpu  100 20 30 1000 40 5 6 7 0 0\ncpu0 1 2 3 4\n");
  ASSERT_TRUE(ticks.has_value());
  EXPECT_EQ(ticks->busy, 161);  // user, nice, system, interrupts
  EXPECT_EQ(ticks->idle, 1040);
  EXPECT_EQ(ticks->stolen, 7);
}

TEST(CpuTicks, AreNoneInAnotherText) {
  EXPECT_FALSE(parsed_cpu_ticks("").has_value());
  EXPECT_FALSE(parsed_cpu_ticks("intr 1 2 3 4 5 6 7 8 9").has_value());
  EXPECT_FALSE(parsed_cpu_ticks("cpu  1 2 3").has_value());
}

// Of 1000 ticks of 1/100 s, 400 are busy and 100 stolen. This process used 1.5 s, and its children
// 0.5 s: others have 400 + 100 - 200 ticks.
TEST(CpuContention, CountsStealTimeButNotItsOwnWorkNorThatOfItsChildren) {
  const CpuTicks before{.busy = 5000, .idle = 7000, .stolen = 300};
  const CpuTicks after{.busy = 5400, .idle = 7500, .stolen = 400};
  constexpr double kTicks = 100;  // a second
  const auto share = [&](const CpuSeconds& used) {
    return contention_between(before, after, used, kTicks).value();
  };
  EXPECT_DOUBLE_EQ(share({.own = 0, .children = 0}), 0.5);
  EXPECT_DOUBLE_EQ(share({.own = 1.5, .children = 0}), 0.35);
  EXPECT_DOUBLE_EQ(share({.own = 0, .children = 0.5}), 0.45);
  EXPECT_DOUBLE_EQ(share({.own = 1.5, .children = 0.5}), 0.3);
  EXPECT_EQ(share({.own = 5.5, .children = 0}), 0);  // ticks are counted late
  EXPECT_FALSE(contention_between(before, before, {}, kTicks).has_value());
}

// CPU time of this process is no contention.
TEST(CpuContention, DoesNotCountItsOwnWork) {
  const CpuContention contention;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(300)) {
  }
  const auto share = contention.share();
  if (!share) GTEST_SKIP() << "the kernel does not say";
  EXPECT_GE(*share, 0);
  EXPECT_LT(*share, 1);
}

}  // namespace
}  // namespace evenkeel
