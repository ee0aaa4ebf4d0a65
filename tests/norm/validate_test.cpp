// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/validate.h"

#include <gtest/gtest.h>

#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/scheme_error.h"
#include "support/shapes.h"

namespace evenkeel::norm {
namespace {

/// Pre-Norm in one block.
Scheme one_block() {
  Scheme scheme;
  scheme.info.name = "mine";
  scheme.shape = testing::tiny_shape(1);
  scheme.blocks.resize(1);
  scheme.blocks[0].attention.input = Norm{};
  scheme.blocks[0].feed_forward.input = Norm{};
  return scheme;
}

std::string refusal(const Scheme& scheme) {
  try {
    validate(scheme);
  } catch (const SchemeError& error) {
    return error.what();
  }
  return "accepted";
}

std::string with_input(const Norm& norm) {
  auto scheme = one_block();
  scheme.blocks[0].attention.input = norm;
  return refusal(scheme);
}

std::string with_query(const Norm& norm) {
  auto scheme = one_block();
  scheme.blocks[0].attention.q = norm;
  return refusal(scheme);
}

std::string no_effect(const std::string& place, const std::string& words) {
  return "scheme mine, block 1, " + place + ": bad_value: " + words +
         "; leave it out, or state `kind` to start from the kind's defaults";
}

TEST(Validate, RefusesTheStepInValuesOfTheStart) {
  const auto with_gain = [](const char* formula, bool is_stored) {
    Norm norm{.gain_init = Expression::parse(formula)};
    if (is_stored) norm.stored_at = 1;
    return with_input(norm);
  };
  EXPECT_EQ(with_gain("1+100*t", false),
            "scheme mine, block 1, attention.input.gain_init: bad_value: is evaluated at the start "
            "of a run only, where `t` is 0, but is \"1+100*t\"; leave `t` out");
  EXPECT_EQ(with_gain("1+100*t", true), "accepted");
  EXPECT_EQ(with_gain("1+1/T", false), "accepted");
  auto learned = one_block();
  learned.blocks[0].attention.add.branch_scale = Learned{.init = Expression::parse("1+t")};
  EXPECT_NE(refusal(learned).find("branch_scale.init: bad_value"), std::string::npos);
  auto weights = one_block();
  weights.base_init = "normal(0.02*(1+t))";
  EXPECT_NE(refusal(weights).find("\"t\" has no value at this place"), std::string::npos)
      << refusal(weights);
}

TEST(Validate, RefusesValuesThatWouldNotBeginWhereTheySay) {
  Norm norm{.gain_form = GainForm::one_plus_w};
  norm.stored_at = 1;
  EXPECT_NE(with_input(norm).find("attention.input.stored_at: bad_value: scales the stored w"),
            std::string::npos);
  for (const auto transform : {Learned::Transform::exp, Learned::Transform::silu}) {
    auto learned = one_block();
    learned.blocks[0].attention.add.branch_scale =
        Learned{.init = 0.5, .transform = transform, .stored_at = Expression(1)};
    EXPECT_NE(refusal(learned).find("branch_scale.stored_at: bad_value: scales the stored"),
              std::string::npos);
  }
}

TEST(Validate, RefusesLimitsOfBatchRenormThatDivideOrPull) {
  EXPECT_NE(with_input({.kind = Kind::batch_renorm, .rate_max = 0.5, .allow_leakage = true})
                .find("must be >= 1, but is"),
            std::string::npos);
  EXPECT_NE(with_input({.kind = Kind::batch_renorm, .shift_max = -1, .allow_leakage = true})
                .find("must be >= 0, but is"),
            std::string::npos);
}

TEST(Validate, RefusesGroupsThatDoNotDivideTheWidthAtAStep) {
  const auto with_groups = [](const char* formula) {
    return with_input({.kind = Kind::group_norm, .groups = Expression::parse(formula)});
  };
  EXPECT_EQ(with_groups("1+min(t, 1)"), "accepted");
  EXPECT_NE(
      with_groups("1+t").find("groups: bad_value: must divide the width 16, but is 3 at t = 2"),
      std::string::npos)
      << with_groups("1+t");
}

TEST(Validate, RefusesARotationWhereNothingIsRotated) {
  EXPECT_EQ(with_input({.rope = Rope::before}),
            no_effect("attention.input",
                      "rope = \"before\" has no effect here: only q and k are rotated"));
  EXPECT_EQ(with_query({.rope = Rope::before}), "accepted");
}

TEST(Validate, RefusesAGainAHeadWithoutHeads) {
  const auto words =
      no_effect("attention.q", "heads_share = false has no effect here: the scope is not \"head\"");
  EXPECT_EQ(with_query({.heads_share = false}), words);
  EXPECT_EQ(with_query({.scope = Scope::head, .heads_share = false}), "accepted");
}

TEST(Validate, RefusesToShapeAGainThatIsNotThere) {
  const auto refused = [](const std::string& setting) {
    return no_effect("attention.input",
                     setting + " has no effect here: affine = \"none\" has no gain");
  };
  EXPECT_EQ(with_input({.affine = Affine::none, .gain_init = 2}), refused("gain_init"));
  EXPECT_EQ(with_input({.affine = Affine::none, .gain_form = GainForm::one_plus_w}),
            refused("gain_form"));
  EXPECT_EQ(with_input({.affine = Affine::none, .stored_at = 2}), refused("stored_at"));
  auto scale_norm = default_norm(Kind::scale_norm);  // its gain starts at sqrt(D) by default
  scale_norm.affine = Affine::none;
  EXPECT_EQ(with_input(scale_norm), "accepted");
}

TEST(Validate, CountsParametersWithoutTheStepsOfARun) {
  auto scheme = one_block();
  scheme.norm_parameters = Expression::parse("2*d + 0*T");
  EXPECT_EQ(refusal(scheme),
            "scheme mine, norm_parameters: unknown_variable: \"T\" has no value at this place in "
            "\"2*d + 0*T\"");
  scheme.norm_parameters = Expression::parse("2*d");
  EXPECT_EQ(refusal(scheme), "accepted");
}

TEST(Validate, SuggestsTheMatrixThatBeginsWithTheWord) {
  auto scheme = one_block();
  scheme.init = {{{"attention.o"}, 2}};
  EXPECT_EQ(refusal(scheme),
            "scheme mine, init: unknown_weights: there is no matrix \"attention.o\"; did you mean "
            "\"attention.output\"? known: attention.k, attention.output, attention.q, attention.v, "
            "feed_forward.down, feed_forward.gate, feed_forward.up");
}

}  // namespace
}  // namespace evenkeel::norm
