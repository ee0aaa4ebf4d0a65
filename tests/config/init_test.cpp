// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "config/config_fixture.h"

namespace evenkeel::config {
namespace {

using Kind = norm::Distribution::Kind;

const norm::Shape kShape = {.layers = 16,
                            .width = 2048,
                            .heads = 32,
                            .kv_heads = 8,
                            .inner = 8192,
                            .vocabulary = 100278,
                            .context = 4096};

norm::Distribution init(const std::string& text) {
  return parse_init(text, kShape.variables());
}
std::string error_of(const std::string& text) {
  return message_of([&] { init(text); });
}

TEST(Init, GivesThePapersStandardDeviationForItsThreeWords) {
  // 1/sqrt(2.5 * 2048) = 0.0139754, as in the authors' configuration
  for (const auto* const word : {"normal", "megatron", "depth_scaled", "default"}) {
    EXPECT_EQ(init(word).kind, Kind::trunc_normal);
    EXPECT_NEAR(init(word).first, 0.0139754, 5e-8) << word;
    EXPECT_EQ(init(word).second, 3) << word;
  }
}

TEST(Init, ScalesTheLastMatricesByTheDepthForTwoOfThem) {
  EXPECT_TRUE(init_factors("normal").empty());
  EXPECT_TRUE(init_factors("xavier").empty());
  EXPECT_TRUE(init_factors("normal(0.02)").empty());
  const auto megatron = init_factors("megatron").at(0);
  EXPECT_EQ(megatron.weights, (std::vector<std::string>{"attention.output", "feed_forward.down"}));
  EXPECT_DOUBLE_EQ(megatron.factor.value(kShape.variables_of_block(3)), 1 / std::sqrt(2.0 * 16));
  const auto scaled = init_factors("depth_scaled").at(0);
  EXPECT_EQ(scaled.weights, megatron.weights);
  EXPECT_DOUBLE_EQ(scaled.factor.value(kShape.variables_of_block(3)), 1 / std::sqrt(2.0 * 3));
}

TEST(Init, TakesTheFourDistributions) {
  EXPECT_EQ(init("normal(0.02)").kind, Kind::normal);
  EXPECT_DOUBLE_EQ(init("normal(1/sqrt(d))").first, 1 / std::sqrt(2048.0));
  EXPECT_DOUBLE_EQ(init("trunc_normal(max(0.01, 0.02), 2)").first, 0.02);
  EXPECT_EQ(init("uniform(-0.01, 0.01)").second, 0.01);
  EXPECT_EQ(init("xavier").kind, Kind::xavier);
  EXPECT_EQ(init("xavier").first, 1);
  EXPECT_EQ(init("xavier(0.5)").first, 0.5);
}

TEST(Init, SaysWhichWordsItKnows) {
  EXPECT_EQ(error_of("nromal"),
            "model.init: unknown word \"nromal\"; did you mean \"normal\"? known: depth_scaled, "
            "megatron, normal, normal(std), scheme, trunc_normal(std, k), uniform(a, b), xavier, "
            "xavier(gain)");
}

TEST(Init, SaysWhichFormsItKnows) {
  EXPECT_EQ(
      error_of("normal(-0.02)"),
      "model.init: wanted default, normal(std), trunc_normal(std, k), uniform(a, b) with a <= "
      "b or xavier(gain), positive numbers otherwise, but found \"normal(-0.02)\"");
  EXPECT_EQ(error_of("normal(l)"), "model.init: \"l\" has no value at this place in \"l\"");
}

}  // namespace
}  // namespace evenkeel::config
