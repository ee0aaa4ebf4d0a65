// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/json_field.h"

#include <gtest/gtest.h>

#include <cmath>

namespace evenkeel::report {
namespace {

using nlohmann::json;

const json kRecord = {
    {"step", 3}, {"loss", nullptr}, {"name", "pre_norm"}, {"over", {{"probe", {{"median", 1.5}}}}}};

TEST(JsonField, IsANumberOrNan) {
  EXPECT_EQ(number(kRecord, "step"), 3);
  for (const auto* key : {"loss", "name", "absent"}) EXPECT_TRUE(std::isnan(number(kRecord, key)));
  EXPECT_TRUE(std::isnan(number(json(7), "step")));
}

TEST(JsonField, HasNumbersWhoseSquaresAndRatiosAreFinite) {
  EXPECT_TRUE(std::isnan(number_of(json(1e308))));
  EXPECT_TRUE(std::isnan(number_of(json(-1e308))));
  EXPECT_EQ(number_of(json(5e-324)), 0);
  EXPECT_EQ(number_of(json(-1e150)), -1e150);
}

TEST(JsonField, HasStepsThatAreExactInFloat64) {
  EXPECT_EQ(step_of(kRecord), 3);
  EXPECT_TRUE(std::isnan(step_of({{"step", 9223372036854775807}})));
  EXPECT_TRUE(std::isnan(step_of({{"step", -1e308}})));
}

TEST(JsonField, IsFoundByItsPath) {
  EXPECT_EQ(number(kRecord, json::json_pointer("/over/probe/median")), 1.5);
  EXPECT_TRUE(std::isnan(number(kRecord, json::json_pointer("/over/torch/median"))));
}

TEST(JsonField, IsAWordAsAReaderWantsIt) {
  EXPECT_EQ(word(kRecord, "name"), "pre_norm");
  EXPECT_EQ(word(kRecord, "step"), "3");
  EXPECT_EQ(word(kRecord, "absent"), "");
}

}  // namespace
}  // namespace evenkeel::report
