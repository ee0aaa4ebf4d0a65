// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/causality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/probe/small_model.h"

namespace evenkeel {
namespace {

using nn::Mode;

norm::Scheme scheme_named(const std::string& name) {
  return config::bind(config::find_scheme(name), probe::small_shape());
}

double change(const std::string& name, Mode mode) {
  return probe::causal_leakage(scheme_named(name), mode, /*seed=*/2);
}

TEST(Causality, HoldsForAScheme) {
  for (const std::string name : {"pre_norm", "hybrid_norm_star", "sigma_reparam", "ngpt"}) {
    EXPECT_LE(change(name, Mode::training), 1e-12) << name;
    EXPECT_LE(change(name, Mode::evaluation), 1e-12) << name;
  }
}

TEST(Causality, IsBrokenByStatisticsOfABatchInTrainingOnly) {
  for (const std::string name : {"batch_norm", "batch_renorm"}) {
    EXPECT_GE(change(name, Mode::training), 1e-6) << name;
    EXPECT_LE(change(name, Mode::evaluation), 1e-12) << name;
    EXPECT_TRUE(probe::leakage_expected(scheme_named(name), Mode::training)) << name;
    EXPECT_FALSE(probe::leakage_expected(scheme_named(name), Mode::evaluation)) << name;
  }
}

TEST(Causality, IsBrokenByStatisticsOfASequenceAlways) {
  for (const auto mode : {Mode::training, Mode::evaluation}) {
    EXPECT_GE(change("instance_norm", mode), 1e-6);
    EXPECT_TRUE(probe::leakage_expected(scheme_named("instance_norm"), mode));
  }
}

// One leaking norm among others: the claim that holds for the other schemes is refuted.
TEST(Causality, DetectsASingleLeakingNorm) {
  auto scheme = scheme_named("pre_norm");
  scheme.blocks[2].attention.output = scheme_named("instance_norm").final;
  ASSERT_EQ(scheme.blocks[2].attention.output->kind, norm::Kind::instance_norm);
  EXPECT_GE(probe::causal_leakage(scheme, Mode::evaluation, 1), 1e-6);
  EXPECT_TRUE(probe::leakage_expected(scheme, Mode::evaluation));
}

TEST(Causality, HasTwoClaimsForAScheme) {
  const auto claims = probe::causality_claims(scheme_named("batch_norm"), 1);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].relation, probe::Relation::at_least);
  EXPECT_EQ(claims[1].relation, probe::Relation::at_most);
  EXPECT_EQ(probe::refuted_count(claims), 0U);
}

}  // namespace
}  // namespace evenkeel
