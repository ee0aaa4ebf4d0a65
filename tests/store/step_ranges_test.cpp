// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/step_ranges.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

namespace evenkeel::store {
namespace {

StepRanges ranges_of(std::initializer_list<std::int64_t> steps) {
  StepRanges ranges;
  for (const auto step : steps) ranges.add(step);
  return ranges;
}

TEST(StepRanges, AreArithmeticProgressions) {
  EXPECT_EQ(ranges_of({}).json().dump(), "[]");
  EXPECT_EQ(ranges_of({10, 20, 20, 30, 40}).json().dump(), "[[10,40,10]]");
  EXPECT_EQ(ranges_of({1, 50, 100, 150, 151, 152}).json().dump(),
            "[[1,50,49],[100,150,50],[151,152,1]]");
  EXPECT_EQ(ranges_of({7, 3, 7}).json().dump(), "[[7,7,1]]");
}

TEST(StepRanges, NameTheStepsThatAreMissing) {
  const auto ranges = ranges_of({10, 20, 30, 40, 50, 60});
  EXPECT_EQ(ranges.missing_from({10, 20, 30, 40, 50, 60}), "");
  EXPECT_EQ(ranges.missing_from({10, 20, 30, 50, 60}), "step 40");
  EXPECT_EQ(ranges.missing_from({10, 20, 30}), "steps 40 to 60");
  EXPECT_EQ(ranges.missing_from({20, 60, 61}), "steps 10, 30 to 50");
  EXPECT_EQ(ranges_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).missing_from({2, 4, 6, 8, 10, 12}),
            "steps 1, 3, 5, 7 and 2 more ranges");
}

TEST(StepRanges, AreReadAsTheyWereWritten) {
  const auto ranges = ranges_of({1, 2, 3, 10, 20});
  const auto read = StepRanges::from_json(nlohmann::json::parse(ranges.json().dump()));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->json(), ranges.json());
}

TEST(StepRanges, AreRefusedIfTheyAreForged) {
  for (const auto* forged : {"{}", "[1]", "[[1,2]]", "[[1,2,\"1\"]]", "[[1,2,0]]", "[[2,1,1]]",
                             "[[-1,2,1]]", "[[1,5,1],[3,4,1]]", "[[0,9223372036854775807,1]]",
                             "[[0,10000000,1]]", "[[1.5,2,1]]", "[[0,18446744073709551615,1]]"}) {
    EXPECT_FALSE(StepRanges::from_json(nlohmann::json::parse(forged)).has_value()) << forged;
  }
}

}  // namespace
}  // namespace evenkeel::store
