// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/coupling.h"

#include <gtest/gtest.h>

#include <string>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/probe/small_model.h"

namespace evenkeel {
namespace {

using probe::Coupling;

probe::Claims of(const std::string& name, Coupling expected) {
  return probe::coupling_claims(config::bind(config::find_scheme(name), probe::small_shape()),
                                expected, /*seed=*/2);
}

TEST(Coupling, HoldsForPreAndNotForQkv) {
  for (const auto& claim : probe::coupling_claims(/*seed=*/2)) {
    EXPECT_TRUE(claim.holds()) << claim.subject << ": " << claim.statement << ": "
                               << claim.measured;
  }
}

TEST(Coupling, RefutesTheOppositeOfEach) {
  for (const std::string name : {"pre_norm", "pre_qk"}) {
    EXPECT_EQ(probe::refuted_count(of(name, Coupling::invariant)), 3U) << name;
  }
  for (const std::string name : {"qkv_norm", "hybrid_norm", "hybrid_norm_star"}) {
    EXPECT_EQ(probe::refuted_count(of(name, Coupling::grows)), 3U) << name;
  }
}

// A norm on v is what decides, not those on q and k or in front.
TEST(Coupling, VanishesWithEveryNormOnValues) {
  for (const std::string name : {"kv_pre", "pre_kv_pre", "pre_qkv_pre"}) {
    EXPECT_EQ(probe::refuted_count(of(name, Coupling::invariant)), 0U) << name;
  }
}

}  // namespace
}  // namespace evenkeel
