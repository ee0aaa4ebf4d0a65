// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/layer_switches.h"

#include <gtest/gtest.h>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

std::string refusal_of_literal(const std::string& literal) {
  return message_of([&] { parse_layer_switches(literal, "x.yaml:3: key"); });
}

TEST(LayerSwitches, ReadsADictOfLayers) {
  const auto patches = parse_layer_switches(
      "_{0:{'attn_norm':True,'ffn_residual':False}, (1, 3,): {\"ffn_norm\": False,},}_", "x");
  ASSERT_EQ(patches.size(), 2U);
  EXPECT_EQ(patches[0].layers, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(patches[0].values,
            (std::map<std::string, bool>{{"attn_norm", true}, {"ffn_residual", false}}));
  EXPECT_EQ(patches[1].layers, (std::vector<std::int64_t>{1, 3}));
  EXPECT_TRUE(parse_layer_switches("", "x").empty());
  EXPECT_TRUE(parse_layer_switches("_{}_", "x").empty());
}

TEST(LayerSwitches, KeepTheGlobalValueOfOtherSwitches) {
  const LayerSwitches all = {.attn_norm = false, .ffn_residual = true};
  const auto layers = switches_of_layers(
      all, parse_layer_switches("_{0:{'attn_norm':True,'ffn_residual':False}}_", "x"), 2, "x");
  EXPECT_EQ(layers[0], LayerSwitches());
  EXPECT_EQ(layers[1], all);
}

TEST(LayerSwitches, RefuseEverythingElse) {
  EXPECT_EQ(refusal_of_literal("{0:{}}"),
            "x.yaml:3: key must be a dict of layers such as "
            "_{0:{'attn_norm':True,'ffn_residual':False}}_, but is not at character 1");
  for (const auto* const literal :
       {"_", "_{", "_{0", "_{0:", "_{0:{", "_{0:{}", "_{0:{}}", "_{0:{}}_x", "_{-1:{}}_",
        "_{():{}}_", "_{0:{'attn_norm'}}_", "_{0:{'attn_norm':1}}_", "_{0:{'attn_norm':true}}_",
        "_{0:{attn_norm:True}}_", "_{0:{'attn_norm:True}}_", "_{99999999999999999999:{}}_",
        "_{(0:{}}_", "_{0 1:{}}_", "_{0:{'attn_norm':__import__('os')}}_"}) {
    EXPECT_NE(refusal_of_literal(literal), "") << literal;
  }
  EXPECT_EQ(refusal_of_literal("_{0:{'norm':True}}_"),
            "x.yaml:3: key: unknown switch \"norm\"; known: attn_norm, attn_residual, ffn_norm, "
            "ffn_residual");
  EXPECT_EQ(message_of([] { switches_of_layers({}, {{{0, 4}, {}}}, 4, "x.yaml:3: key"); }),
            "x.yaml:3: key: layer 4 must be below model.n_layers (4); layers are counted from 0");
}

}  // namespace
}  // namespace evenkeel::convert
