// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/categorical.h"

#include <gtest/gtest.h>

#include <cmath>

namespace evenkeel::data {
namespace {

TEST(Categorical, SamplesEachTextWithItsProbability) {
  const Categorical distribution({"a", "b", "c"}, {2, 1, 1});
  constexpr std::uint32_t kHalf = 0x80000000, kThreeQuarters = 0xc0000000;
  EXPECT_EQ(distribution.sample(0), 0U);
  EXPECT_EQ(distribution.sample(kHalf - 1), 0U);
  EXPECT_EQ(distribution.sample(kHalf), 1U);
  EXPECT_EQ(distribution.sample(kThreeQuarters - 1), 1U);
  EXPECT_EQ(distribution.sample(kThreeQuarters), 2U);
  EXPECT_EQ(distribution.sample(0xffffffff), 2U);
  EXPECT_DOUBLE_EQ(distribution.nats(0), std::log(2));
  EXPECT_DOUBLE_EQ(distribution.nats(2), std::log(4));
}

TEST(Categorical, StatesTheProbabilityOfItsSamples) {  // sum over a grid of 2^20 random words
  const Categorical distribution(split_words("one two three four five six seven"), zipf(7, 2));
  std::vector<double> counts(distribution.size());
  constexpr std::uint32_t kStep = 1 << 12, kGrid = 1 << 20;
  for (std::uint32_t i = 0; i < kGrid; ++i) counts[distribution.sample(i * kStep)] += 1.0 / kGrid;
  double sum = 0;
  for (std::size_t i = 0; i < distribution.size(); ++i) {
    EXPECT_NEAR(counts[i], std::exp(-distribution.nats(i)),
                2.0 / kGrid);  // one grid point at each end
    sum += std::exp(-distribution.nats(i));
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
