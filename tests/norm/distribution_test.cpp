// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/distribution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {
namespace {

const Variables kSizes = {{"d", 768}};

TEST(Distribution, ComputesItsNumbersFromTheSizes) {
  const auto drawn = distribution_of("trunc_normal(1/sqrt(2.5*d), 3)", kSizes);
  ASSERT_TRUE(drawn);
  EXPECT_EQ(drawn->kind, Distribution::Kind::trunc_normal);
  EXPECT_DOUBLE_EQ(drawn->first, 1 / std::sqrt(2.5 * 768));
  EXPECT_EQ(drawn->second, 3);
}

TEST(Distribution, HasFourForms) {
  EXPECT_EQ(distribution_of("normal(0.02)", kSizes)->first, 0.02);
  EXPECT_EQ(distribution_of("uniform(-0.01, max(0.01, 0))", kSizes)->second, 0.01);
  EXPECT_EQ(distribution_of("xavier( 1 )", kSizes)->kind, Distribution::Kind::xavier);
  EXPECT_FALSE(distribution_of("default", kSizes));
}

TEST(Distribution, RefusesOtherWordsCountsAndSpreads) {
  for (const auto* const text : {"gauss(1)", "normal", "normal(1, 2)", "normal(0)", "xavier(-1)",
                                 "uniform(1, 0)", "trunc_normal(1, 0)", "normal(0.02) x"}) {
    try {
      distribution_of(text, kSizes);
      ADD_FAILURE() << text;
    } catch (const SchemeError& error) {
      EXPECT_EQ(error.what(),
                std::string("bad_value: wanted default, normal(std), trunc_normal(std,"
                            " k), uniform(a, b) with a <= b or xavier(gain), positive"
                            " numbers otherwise, but found \"") +
                    text + "\"");
    }
  }
}

}  // namespace
}  // namespace evenkeel::norm
