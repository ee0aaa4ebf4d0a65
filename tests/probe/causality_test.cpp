// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/causality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

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

// With open clips batch_renorm uses running statistics only: the expected leak is not there.
TEST(Causality, RefutesALeakThatIsNotThere) {
  auto scheme = scheme_named("batch_renorm");
  const auto open_clips = [](std::optional<norm::Norm>& norm) {
    norm.value().rate_max = 1e9;
    norm.value().shift_max = 1e9;
  };
  for (auto& block : scheme.blocks) {
    open_clips(block.attention.input);
    open_clips(block.feed_forward.input);
  }
  open_clips(scheme.final);
  const auto claims = probe::causality_claims(scheme, 1);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].relation, probe::Relation::at_least);
  EXPECT_LT(claims[0].measured, 1e-9);
  EXPECT_FALSE(claims[0].holds());
  EXPECT_TRUE(claims[1].holds());
}

// The claim that an output stays has the measurement of a model that leaks, and the reverse.
TEST(Causality, RefutesAClaimWithTheMeasurementOfAnotherScheme) {
  const auto causal = probe::causality_claims(scheme_named("pre_norm"), 1);
  const auto leaking = probe::causality_claims(scheme_named("instance_norm"), 1);
  ASSERT_EQ(causal.size(), 2U);
  ASSERT_EQ(leaking.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    auto stays = causal[i], changes = leaking[i];
    const auto mode = i == 0 ? Mode::training : Mode::evaluation;
    const double leakage = probe::causal_leakage(scheme_named("instance_norm"), mode, 1);
    EXPECT_NEAR(changes.measured, leakage, 1e-9 * leakage);
    EXPECT_TRUE(stays.holds());
    EXPECT_TRUE(changes.holds());
    std::swap(stays.measured, changes.measured);
    EXPECT_FALSE(stays.holds());
    EXPECT_FALSE(changes.holds());
    stays.measured = changes.measured = 1e-9;  // above rounding, below the effect of a statistic
    EXPECT_FALSE(stays.holds());
    EXPECT_FALSE(changes.holds());
  }
}

// Logits of 0 change neither before nor at a changed token: there is nothing to compare with.
TEST(Causality, IsNotConfirmedForLogitsThatNeverChange) {
  auto scheme = scheme_named("pre_norm");
  scheme.logits_scale = norm::Expression(0.0);
  const auto claims = probe::causality_claims(scheme, 1);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_TRUE(std::isnan(claims[0].measured));
  EXPECT_TRUE(std::isnan(claims[1].measured));
  EXPECT_EQ(probe::refuted_count(claims), 2U);
}

}  // namespace
}  // namespace evenkeel
