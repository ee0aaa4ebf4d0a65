// SPDX-License-Identifier: Apache-2.0
// `extends`: what a child changes, what it inherits, and what it does not.
#include "evenkeel/config/scheme/scheme_merge.h"

#include <gtest/gtest.h>

#include "config/scheme/scheme_of.h"

namespace evenkeel::config {
namespace {

toml::table merged(std::string_view parent, std::string_view child) {
  return merge(toml::parse(parent), toml::parse(child));
}

TEST(Merge, TakesTablesKeyByKey) {
  EXPECT_EQ(merged("attention = { input = 'norm', softcap = 50 }", "attention.softcap = 30"),
            toml::parse("attention = { input = 'norm', softcap = 30 }"));
}

TEST(Merge, ReplacesANormWhole) {
  EXPECT_EQ(merged("attention.input = { kind = 'dyt', alpha_init = 1 }",
                   "attention.input = { gain_init = 2 }"),
            toml::parse("attention.input = { gain_init = 2 }"));
  EXPECT_EQ(merged("norm = { kind = 'dyt', alpha_init = 1 }", "norm = { kind = 'derf' }"),
            toml::parse("norm = { kind = 'derf' }"));
}

TEST(Merge, ReplacesALearnedValueWholeButChangesAKeyOfOne) {
  const auto* const parent =
      "feed_forward.skip_scale = { learned = 'scalar', init = 1, through = 'exp' }";
  EXPECT_EQ(merged(parent, "feed_forward.skip_scale = { learned = 'vector', init = 2 }"),
            toml::parse("feed_forward.skip_scale = { learned = 'vector', init = 2 }"));
  EXPECT_EQ(merged(parent, "feed_forward.skip_scale = { init = 2 }"),
            toml::parse("feed_forward.skip_scale = "
                        "{ learned = 'scalar', init = 2, through = 'exp' }"));
}

TEST(Merge, ReplacesListsAndPlainValues) {
  EXPECT_EQ(merged("attention.skip = ['stream', 'block_input']\nfinal = 'norm'",
                   "attention.skip = ['normed']\nfinal = 'none'"),
            toml::parse("attention.skip = ['normed']\nfinal = 'none'"));
}

TEST(Extends, DoesNotInheritTheDescriptiveWords) {
  const auto child = inline_scheme("extends = 'qk_post'\ntitle = 'mine'", "");
  const auto info = scheme_info(child);
  EXPECT_EQ(info.name, "qk_post+own");
  EXPECT_EQ(info.title, "mine");
  EXPECT_EQ(info.family + info.source + info.note + info.equation_attention, "");
  EXPECT_TRUE(info.warnings.empty());
}

TEST(Extends, LooksUpTheSchemesNormLast) {
  const auto scheme = scheme_of("extends = 'hybrid_norm_star'\nnorm = 'layer_norm'");
  EXPECT_EQ(scheme.blocks[0].attention.input->kind, norm::Kind::layer_norm);
  EXPECT_EQ(scheme.blocks[2].attention.v->kind, norm::Kind::layer_norm);
  EXPECT_EQ(scheme.blocks[2].attention.v->scope, norm::Scope::head);
  EXPECT_EQ(scheme.final->kind, norm::Kind::layer_norm);
}

TEST(Extends, ATableWithoutAKindChangesFieldsOfTheInheritedNorm) {
  const auto scheme = scheme_of("extends = 'pre_norm_outside'\nnorm = { epsilon = 1e-3 }");
  EXPECT_EQ(scheme.final->epsilon, 1e-3);
  EXPECT_EQ(scheme.final->epsilon_at, norm::EpsilonAt::outside);
  EXPECT_EQ(scheme_of("extends = 'rybakov_base'\nnorm = { epsilon = 1e-3 }").final->kind,
            norm::Kind::layer_norm);
}

TEST(Extends, ASlotsTableWithoutAKindStartsFromTheSchemesNorm) {
  const auto* const toml = R"(norm = { kind = 'layer_norm', epsilon = 1e-3 }
                              attention.input = { gain_init = 2 }
                              feed_forward.input = { kind = 'layer_norm', gain_init = 2 })";
  const auto block = scheme_of(toml).blocks[0];
  EXPECT_EQ(block.attention.input->epsilon, 1e-3);
  EXPECT_EQ(block.feed_forward.input->epsilon, 1e-5) << "a kind of its own: the kind's defaults";
}

TEST(Extends, NoneEmptiesASlotAndDropsARule) {
  const auto gemma3 = bind(find_scheme("gemma3"), tiny_shape(2));
  EXPECT_FALSE(gemma3.blocks[0].attention.softcap);
  EXPECT_FALSE(gemma3.logits_softcap);
  const auto scheme = scheme_of(R"(extends = 'keel'
                                   attention = { residual = 'none', skip_scale = 'none' })");
  EXPECT_FALSE(scheme.blocks[0].attention.residual);
  EXPECT_EQ(scheme.blocks[0].attention.add.skip_scale, norm::Number(norm::Expression(1)));
}

TEST(Extends, ATableMayChangeTheCountWithoutAFormula) {
  EXPECT_EQ(norm::norm_parameter_count(scheme_of("extends = 'pre_norm'\nnorm = 'layer_norm'")),
            288);
}

}  // namespace
}  // namespace evenkeel::config
