// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/numpy_shuffle.h"

#include <gtest/gtest.h>

namespace evenkeel::data {
namespace {

using Order = std::vector<std::uint32_t>;

/// The sum of position times value, which differs between orders.
std::uint64_t weighted_sum(const Order& order) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) sum += i * order[i];
  return sum;
}

// Values of NumPy 2.4: Generator(PCG64(seed)).shuffle(arange(count, dtype=uint32)).
TEST(NumpyShuffled, IsNumPysOrder) {
  EXPECT_EQ(numpy_shuffled(10, 0), (Order{4, 6, 2, 7, 3, 5, 9, 0, 8, 1}));
  EXPECT_EQ(numpy_shuffled(10, 6198), (Order{2, 4, 7, 3, 8, 9, 0, 6, 1, 5}));
  EXPECT_EQ(weighted_sum(numpy_shuffled(1000003, 0)), 250029055943716109U);
  EXPECT_EQ(weighted_sum(numpy_shuffled(1000003, 6198)), 250003960771629790U);
}

TEST(NumpyShuffled, UsesAllBitsOfTheSeed) {
  EXPECT_EQ(numpy_shuffled(10, (std::uint64_t{1} << 40) + 5),
            (Order{8, 1, 2, 5, 3, 0, 9, 7, 4, 6}));
}

TEST(NumpyShuffled, HasNoneOrOneElement) {
  EXPECT_EQ(numpy_shuffled(0, 1), Order{});
  EXPECT_EQ(numpy_shuffled(1, 1), Order{0});
}

}  // namespace
}  // namespace evenkeel::data
