// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/size_class.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace evenkeel::memory {
namespace {

TEST(SizeClass, HoldsTheRequestAndWastesAnEighthAtMost) {
  for (std::size_t bytes = 1; bytes < (1 << 20); ++bytes) {
    const auto held = class_bytes(size_class(bytes));
    ASSERT_GE(held, bytes);
    ASSERT_LE(held, std::max(kMinBlockBytes, bytes + bytes / kClassesPerDoubling)) << bytes;
  }
}

TEST(SizeClass, IsTheSmallestThatFits) {
  for (std::size_t class_index = 0; class_index < kClasses; ++class_index) {
    EXPECT_EQ(size_class(class_bytes(class_index)), class_index);
    EXPECT_EQ(size_class(class_bytes(class_index) + 1), class_index + 1);
  }
}

TEST(SizeClass, CoversTheAddressSpace) {
  EXPECT_EQ(size_class(std::size_t{1} << 47), kClasses - 1);
}

}  // namespace
}  // namespace evenkeel::memory
