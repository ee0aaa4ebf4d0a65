// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace evenkeel {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known-answer vectors of the authors' library Random123.
TEST(Philox, GivesThePublishedWords) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, GivesEachStreamAndSeedItsOwnNumbers) {
  EXPECT_NE(Philox(1, "data").words(0), Philox(1, "init").words(0));
  EXPECT_NE(Philox(1, "data").words(0), Philox(2, "data").words(0));
  EXPECT_EQ(Philox(1, "data").words(7), Philox(1, "data").words(7));
}

TEST(Philox, HasTheMomentsOfANormal) {
  const Philox random(3, "test");
  constexpr int kDraws = 100000;
  double sum = 0, square = 0, fourth = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = random.normal(i);
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));  // five standard errors each
  EXPECT_NEAR(square / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth / kDraws, 3, 5 * std::sqrt(96.0 / kDraws));
}

TEST(Philox, StaysBelowItsBound) {
  const Philox random(3, "test");
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 200; ++i) seen.insert(random.below(7, i));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Permuted, VisitsEveryIndexOnceAndEachEpochInAnotherOrder) {
  const Philox random(5, "order");
  for (const std::uint64_t size : {1, 2, 3, 16, 17, 1000}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < size; ++i) seen.insert(permuted(i, size, random, 0));
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same += permuted(i, 1000, random, 0) == permuted(i, 1000, random, 1) ? 1 : 0;
  }
  EXPECT_LT(same, 20);  // one is expected
}

}  // namespace
}  // namespace evenkeel
