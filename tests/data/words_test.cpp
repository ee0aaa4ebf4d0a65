// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/words.h"

#include <gtest/gtest.h>

#include <cmath>

namespace evenkeel::data {
namespace {

TEST(Words, PickEachTextForItsShareOfTheRandomWords) {
  const Words words({"a", "b", "c"}, {2, 1, 1});
  constexpr std::uint32_t kHalf = 0x80000000, kThreeQuarters = 0xc0000000;
  EXPECT_EQ(words.pick(0), 0U);
  EXPECT_EQ(words.pick(kHalf - 1), 0U);
  EXPECT_EQ(words.pick(kHalf), 1U);
  EXPECT_EQ(words.pick(kThreeQuarters - 1), 1U);
  EXPECT_EQ(words.pick(kThreeQuarters), 2U);
  EXPECT_EQ(words.pick(0xffffffff), 2U);
  EXPECT_DOUBLE_EQ(words.nats(0), std::log(2));
  EXPECT_DOUBLE_EQ(words.nats(2), std::log(4));
}

TEST(Words, StateTheProbabilityThatThePickHas) {  // sum over a grid of 2^20 random words
  const Words words(split_words("one two three four five six seven"), zipf(7, 2));
  std::vector<double> counts(words.size());
  constexpr std::uint32_t kStep = 1 << 12, kGrid = 1 << 20;
  for (std::uint32_t i = 0; i < kGrid; ++i) counts[words.pick(i * kStep)] += 1.0 / kGrid;
  double sum = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_NEAR(counts[i], std::exp(-words.nats(i)), 2.0 / kGrid);  // one grid point at each end
    sum += std::exp(-words.nats(i));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Zipf, FallsWithTheRankPlusTheOffset) {  // w_r = c / (r + q)
  const auto weights = zipf(3, 1, 0.5);
  EXPECT_DOUBLE_EQ(weights[0] / weights[2], 4.0 / 2);
  EXPECT_DOUBLE_EQ(weights[0] + weights[1] + weights[2], 0.5);
}

}  // namespace
}  // namespace evenkeel::data
