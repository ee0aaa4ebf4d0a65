// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/scheme_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evenkeel/norm/kind.h"

namespace evenkeel::norm {
namespace {

/// Two layers, each with a pre-norm in both sublayers.
Scheme two_layers() {
  Scheme scheme;
  scheme.info.name = "two";
  scheme.shape = {.layers = 2,
                  .width = 16,
                  .heads = 4,
                  .kv_heads = 2,
                  .inner = 24,
                  .vocabulary = 31,
                  .context = 8};
  Block block;
  block.attention.input = default_norm(Kind::rms_norm);
  block.feed_forward.input = default_norm(Kind::rms_norm);
  scheme.blocks = {block, block};
  scheme.final = default_norm(Kind::layer_norm);
  return scheme;
}

TEST(SchemeJson, StoresEqualBlocksOnce) {
  auto scheme = two_layers();
  EXPECT_EQ(scheme_json(scheme, {})["layers"], nlohmann::json({0, 0}));
  EXPECT_EQ(scheme_json(scheme, {})["blocks"].size(), 1);
  scheme.blocks[1].feed_forward.add.skip = {Tap::normed, Tap::block_input};
  const auto json = scheme_json(scheme, {});
  EXPECT_EQ(json["layers"], nlohmann::json({0, 1}));
  EXPECT_EQ(json["blocks"][1]["feed_forward"]["skip"], nlohmann::json({"normed", "block_input"}));
}

TEST(SchemeJson, HasTheFieldsOfANormThatAct) {
  auto scheme = two_layers();
  auto& q = scheme.blocks[0].attention.q.emplace(default_norm(Kind::scale_norm));
  q.scope = Scope::head;
  q.stored_at = Expression(0.5);
  q.gain_form = GainForm::one_plus_w;
  const auto json = scheme_json(scheme, {});
  const auto& norm = json["blocks"][0]["attention"]["q"];
  EXPECT_EQ(norm["kind"], "scale_norm");
  EXPECT_EQ(norm["heads_share"], true);
  EXPECT_EQ(norm["gain_init"], 2);  // sqrt(width), the width of one head
  EXPECT_EQ(norm["gain_factor"], 4);
  EXPECT_EQ(norm["gain_form"], "1+w");
  EXPECT_EQ(norm["epsilon_at"], "clamp");
  EXPECT_EQ(norm["rope"], "after");
  EXPECT_FALSE(norm.contains("partial"));
  EXPECT_FALSE(json["final"].contains("rope"));
  EXPECT_FALSE(json["final"].contains("heads_share"));
  EXPECT_FALSE(json["blocks"][0]["attention"].contains("k"));
}

TEST(SchemeJson, DescribesTrainedNumbers) {
  auto scheme = two_layers();
  scheme.blocks[1].attention.score_scale = Learned{.size = Learned::Size::per_head,
                                                   .init = Expression::parse("l"),
                                                   .transform = Learned::Transform::exp,
                                                   .at_most = Expression(100),
                                                   .stored_at = Expression::parse("d")};
  const auto json = scheme_json(scheme, {});
  EXPECT_EQ(json["blocks"][0]["attention"]["score_scale"], 0.5);  // 1 / sqrt(dk)
  EXPECT_EQ(json["blocks"][1]["attention"]["score_scale"],
            nlohmann::ordered_json({{"parameter", "score_scale"},
                                    {"size", "per_head"},
                                    {"init", 2.0},
                                    {"factor", 0.125},
                                    {"transform", "exp"},
                                    {"at_most", 100.0}}));
}

TEST(SchemeJson, EvaluatesExpressionsOfTheStep) {
  auto scheme = two_layers();
  for (auto& block : scheme.blocks) {
    block.attention.add.branch_scale = Expression::parse("min(t/(10*l), 1)");
  }
  const auto with_formulas = scheme_json(scheme, {});
  EXPECT_EQ(with_formulas["blocks"][0]["attention"]["branch_scale"], "min(t/(10*l), 1)");
  EXPECT_EQ(with_formulas["layers"], nlohmann::json({0, 0}));
  const auto with_values = scheme_json(scheme, Steps{.done = 5, .planned = 100});
  EXPECT_EQ(with_values["blocks"][0]["attention"]["branch_scale"], 0.5);
  EXPECT_EQ(with_values["blocks"][1]["attention"]["branch_scale"], 0.25);
}

TEST(SchemeJson, SaysWhetherTokensSeeLaterOnes) {
  auto scheme = two_layers();
  EXPECT_EQ(scheme_json(scheme, {})["causal"], true);
  scheme.final = default_norm(Kind::instance_norm);
  EXPECT_EQ(scheme_json(scheme, {})["causal"], false);
}

TEST(SchemeJson, HasBothStreamsOfADualScheme) {
  auto scheme = two_layers();
  scheme.dual = Dual{.reads_norm_of_y = true,
                     .norms_both_at_end = true,
                     .norm = default_norm(Kind::rms_norm),
                     .write_y = Expression::parse("1/l"),
                     .y_init = Expression(0.5)};
  const auto json = scheme_json(scheme, {});
  EXPECT_EQ(json["y_init"], 0.5);
  EXPECT_EQ(json["blocks"][1]["feed_forward"]["write_y"], 0.5);
  EXPECT_EQ(json["blocks"][1]["feed_forward"]["dual"]["kind"], "rms_norm");
  EXPECT_TRUE(json.contains("stream_x") && json.contains("stream_y"));
}

}  // namespace
}  // namespace evenkeel::norm
