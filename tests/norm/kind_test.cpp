// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/kind.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {
namespace {

TEST(Kind, HasItsOwnDefaults) {
  EXPECT_EQ(default_norm(Kind::rms_norm).affine, Affine::vector);
  EXPECT_EQ(default_norm(Kind::rms_norm).epsilon, 1e-5);
  EXPECT_EQ(default_norm(Kind::layer_norm).affine, Affine::vector_bias);
  EXPECT_EQ(default_norm(Kind::l2).affine, Affine::none);
  EXPECT_EQ(default_norm(Kind::l2).epsilon, 1e-12);
  EXPECT_EQ(default_norm(Kind::l2).epsilon_at, EpsilonAt::clamp);
  EXPECT_EQ(default_norm(Kind::scale_norm).gain_init.formula(), "sqrt(width)");
  EXPECT_EQ(default_norm(Kind::seed_norm).alpha_init.formula(), "1");
  EXPECT_EQ(default_norm(Kind::batch_renorm).momentum, 0.01);
}

TEST(Kind, IsSpelledAsInToml) {
  for (const auto& name : kind_names()) EXPECT_EQ(name_of(kind_named(name)), name);
  EXPECT_EQ(default_norm(kind_named("derf")).kind, Kind::derf);
}

TEST(Kind, HasOneRowInTheOrderOfTheEnumerators) {
  std::size_t i = 0;
  for (const auto& row : kinds()) {
    EXPECT_EQ(static_cast<std::size_t>(row.kind), i++) << row.name;
    EXPECT_EQ(row.defaults.kind, row.kind) << row.name;
    EXPECT_NE(std::string(row.formula), "") << row.name;
  }
}

TEST(Kind, SeesOtherTokensByItsAxisAndItsRunningValues) {
  const auto count = [](bool (*sees)(Kind)) {
    std::string names;
    for (const auto& row : kinds()) {
      if (sees(row.kind)) names = joined(names, row.name, ", ");
    }
    return names;
  };
  EXPECT_EQ(count(mixes_tokens), "batch_norm, batch_renorm, instance_norm");
  EXPECT_EQ(count(mixes_tokens_in_evaluation), "instance_norm");
  for (const auto& row : kinds()) {
    const auto fields = allowed_fields(row.kind);
    EXPECT_EQ(std::count(fields.begin(), fields.end(), "allow_leakage"),
              mixes_tokens(row.kind) ? 1 : 0)
        << row.name;
  }
}

TEST(Kind, HasOnlyTheFieldsThatMeanSomething) {
  const auto has = [](Kind kind, const std::string& field) {
    const auto fields = allowed_fields(kind);
    return std::count(fields.begin(), fields.end(), field) == 1;
  };
  EXPECT_TRUE(has(Kind::rms_norm, "partial"));
  EXPECT_FALSE(has(Kind::layer_norm, "partial"));
  EXPECT_FALSE(has(Kind::dyt, "epsilon"));
  EXPECT_TRUE(has(Kind::batch_norm, "allow_leakage"));
  EXPECT_TRUE(has(Kind::instance_norm, "epsilon_at"));
  EXPECT_FALSE(has(Kind::batch_norm, "epsilon_at")) << "always inside";
  EXPECT_FALSE(has(Kind::rms_norm, "allow_leakage"));
}

TEST(ParameterCount, AddsGainBiasAndTheOtherParameters) {
  const auto count = [](Norm norm) { return parameter_count(norm, 16, 4); };
  auto norm = default_norm(Kind::rms_norm);
  EXPECT_EQ(count(norm), 16);
  norm.scope = Scope::head;
  EXPECT_EQ(count(norm), 4) << "one gain of dk values for all heads";
  norm.heads_share = false;
  EXPECT_EQ(count(norm), 16) << "heads * dk values";
  norm.affine = Affine::scalar;
  EXPECT_EQ(count(norm), 4) << "one scalar a head";
  EXPECT_EQ(count(default_norm(Kind::layer_norm)), 32);
  EXPECT_EQ(count(default_norm(Kind::scale_norm)), 1);
  EXPECT_EQ(count(default_norm(Kind::dyt)), 33);
  EXPECT_EQ(count(default_norm(Kind::derf)), 34);
  EXPECT_EQ(count(default_norm(Kind::seed_norm)), 48);
  EXPECT_EQ(count(default_norm(Kind::instance_norm)), 0);
}

TEST(Describe, SaysWhatDiffersFromTheKind) {
  auto norm = default_norm(Kind::rms_norm);
  EXPECT_EQ(describe(norm), "rms_norm");
  norm.scope = Scope::head;
  EXPECT_EQ(describe(norm), "rms_norm per head");
  norm.affine = Affine::none;
  norm.epsilon = 1e-6;
  norm.epsilon_at = EpsilonAt::outside;
  EXPECT_EQ(describe(norm), "rms_norm per head, no gain, epsilon 1e-06, epsilon outside");
  auto layer_norm = default_norm(Kind::layer_norm);
  layer_norm.gain_init = Expression::parse("1/sqrt(2*N)");
  layer_norm.out_scale = 0.5;
  layer_norm.affine = Affine::vector;
  EXPECT_EQ(describe(layer_norm),
            "layer_norm, no bias, gain starts at 1/sqrt(2*N), result times 0.5");
}

TEST(Describe, SaysWhatOnlySomeKindsHave) {
  auto derf = default_norm(Kind::derf);
  derf.alpha_init = 0.2;
  derf.shift_init = 1;
  EXPECT_EQ(describe(derf), "derf, alpha starts at 0.2, shift starts at 1");
  auto seed_norm = default_norm(Kind::seed_norm);
  seed_norm.beta_init = 0.1;
  EXPECT_EQ(describe(seed_norm), "seed_norm, beta starts at 0.1");
  auto batch_renorm = default_norm(Kind::batch_renorm);
  batch_renorm.momentum = 0.5;
  batch_renorm.rate_max = 3;
  batch_renorm.shift_max = 5;
  EXPECT_EQ(describe(batch_renorm), "batch_renorm, momentum 0.5, rate at most 3, shift at most 5");
}

TEST(Describe, SaysAllOfALearnedNumber) {
  EXPECT_EQ(describe(Number(Expression::parse("1/sqrt(d)"))), "1/sqrt(d)");
  EXPECT_EQ(describe(Number(Learned{.init = 2})), "learned scalar from 2");
  EXPECT_EQ(describe(Number(Learned{.size = Learned::Size::per_head,
                                    .init = 0.1,
                                    .transform = Learned::Transform::exp,
                                    .at_most = Expression(100),
                                    .stored_at = Expression(1)})),
            "learned per_head from 0.1, through exp, at most 100, stored at 1");
}

}  // namespace
}  // namespace evenkeel::norm
