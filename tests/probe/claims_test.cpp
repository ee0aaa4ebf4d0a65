// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/claims.h"

#include <gtest/gtest.h>

#include <limits>

namespace evenkeel {
namespace {

using probe::Claim;
using probe::Relation;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

TEST(Claim, HoldsUpToItsLimit) {
  EXPECT_TRUE((Claim{.measured = 1, .relation = Relation::at_most, .limit = 1}.holds()));
  EXPECT_FALSE((Claim{.measured = 1.1, .relation = Relation::at_most, .limit = 1}.holds()));
  EXPECT_TRUE((Claim{.measured = 1, .relation = Relation::at_least, .limit = 1}.holds()));
  EXPECT_FALSE((Claim{.measured = 0.9, .relation = Relation::at_least, .limit = 1}.holds()));
  const Claim near = {.measured = 1.5, .relation = Relation::near, .limit = 1, .tolerance = 0.5};
  EXPECT_TRUE(near.holds());
  EXPECT_FALSE(
      (Claim{.measured = 0.4, .relation = Relation::near, .limit = 1, .tolerance = 0.5}.holds()));
}

TEST(Claim, IsRefutedByNonfiniteNumbers) {
  for (const auto relation : {Relation::at_most, Relation::at_least, Relation::near}) {
    for (const double bad : {kNone, kEndless, -kEndless}) {
      EXPECT_FALSE((Claim{.measured = bad, .relation = relation, .limit = 1}.holds()));
      EXPECT_FALSE((Claim{.measured = 1, .relation = relation, .limit = bad}.holds()));
    }
  }
}

TEST(Claims, CountTheRefuted) {
  const Claim held = {.measured = 1, .limit = 2};
  const Claim refuted = {.measured = 3, .limit = 2};
  EXPECT_EQ(probe::refuted_count({held, refuted, held, refuted}), 2U);
  EXPECT_EQ(probe::refuted_count({}), 0U);
}

}  // namespace
}  // namespace evenkeel
