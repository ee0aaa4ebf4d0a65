// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/size_class.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace evenkeel::memory {
namespace {

TEST(SizeClass, HoldsWhatIsAskedAndWastesAnEighthAtMost) {
  for (std::size_t bytes = 1; bytes < (1 << 20); ++bytes) {
    const auto held = class_bytes(size_class(bytes));
    ASSERT_GE(held, bytes);
    ASSERT_LE(held, std::max(kSmallest, bytes + bytes / kSteps)) << bytes;
  }
}

TEST(SizeClass, IsTheSmallestThatFits) {
  for (std::size_t of_class = 0; of_class < kClasses; ++of_class) {
    EXPECT_EQ(size_class(class_bytes(of_class)), of_class);
    EXPECT_EQ(size_class(class_bytes(of_class) + 1), of_class + 1);
  }
}

TEST(SizeClass, ReachesAllThatAProcessCanAddress) {
  EXPECT_EQ(size_class(std::size_t{1} << 47), kClasses - 1);
}

}  // namespace
}  // namespace evenkeel::memory
