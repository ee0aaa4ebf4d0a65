// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/model_class.h"

#include <gtest/gtest.h>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

constexpr norm::Steps kSteps = {.done = 10, .planned = 100};

std::string class_of(const norm::Scheme& scheme) {
  for (const auto& each : model_classes()) {
    if (compare(scheme, each, kSteps).difference.empty()) return each.name;
  }
  return "";
}

std::string difference(const std::string& scheme, const std::string& name) {
  return compare(bound(scheme, small_shape()), *class_named(name), kSteps).difference;
}

TEST(ModelClass, OfEachSchemeOfTheCatalogue) {
  std::map<std::string, std::string> found;
  for (const auto& name : config::catalogue()) {
    const auto its_class = class_of(bound(name, small_shape()));
    if (!its_class.empty()) found[name] = its_class;
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"gemma2", "gemma2"},
                                                       {"gemma3", "gemma3"},
                                                       {"layer_norm_scaling", "llama"},
                                                       {"layer_norm_scaling_learned", "llama"},
                                                       {"mix_ln", "llama"},  // below four blocks
                                                       {"olmo2", "olmo2"},
                                                       {"pre_norm", "llama"},
                                                       {"pre_norm_bare", "qwen3"},
                                                       {"pre_norm_layer_norm", "stablelm"},
                                                       {"pre_qk", "qwen3"},
                                                       {"pre_qk_pre", "qwen3"},
                                                       {"qk_clip", "llama"},
                                                       {"rybakov_base", "stablelm"}}));
}

TEST(ModelClass, IsChosenByWhatASchemeComputesNotByItsName) {
  const auto shape = small_shape();
  EXPECT_EQ(class_of(bound("extends = \"pre_norm\"\nnorm = { kind = \"rms_norm\", gain_form = "
                           "\"1+w\" }",
                           shape)),
            "llama");
  EXPECT_EQ(class_of(bound("extends = \"gemma2\"\n[attention]\nscore_scale = 0.25", shape)),
            "gemma2");
  EXPECT_EQ(class_of(bound("extends = \"pre_norm\"\n[attention]\nscore_scale = 0.25", shape)), "");
  EXPECT_EQ(
      class_of(bound("extends = \"pre_norm\"\n[attention]\nscore_scale = \"1/sqrt(dk)\"", shape)),
      "llama");
}

TEST(ModelClass, OfAMixtureOfExperts) {
  auto shape = small_shape();
  shape.experts = {.count = 4, .active = 2};
  EXPECT_EQ(class_of(bound("pre_qk", shape)), "qwen3_moe");
  EXPECT_EQ(class_of(bound("pre_norm", shape)), "");
  shape.experts.shared = 1;
  EXPECT_EQ(class_of(bound("pre_qk", shape)), "");
  shape.experts = {.count = 4, .active = 2, .has_bias = true};
  EXPECT_EQ(class_of(bound("pre_qk", shape)), "");
}

TEST(ModelClass, NamesTheFirstDifference) {
  const std::map<std::pair<std::string, std::string>, std::string> wanted = {
      {{"pre_norm", "qwen3"}, "blocks.0.attention.q_norm is missing, but Qwen3ForCausalLM has it"},
      {{"pre_norm", "stablelm"},
       "blocks.0.attention.input_norm is rms_norm, but that of StableLmForCausalLM is layer_norm"},
      {{"pre_qk", "olmo2"},
       "blocks.0.attention.input_norm is there, but Olmo2ForCausalLM has none"},
      {{"pre_norm", "qwen3_moe"},
       "the model is dense, but Qwen3MoeForCausalLM is a mixture of experts"},
      {{"parallel", "llama"},
       "both sublayers of a block are parallel, but LlamaForCausalLM has no such part"},
      {{"weight_norm", "llama"},
       "matrices are reparameterized by weight_norm, but LlamaForCausalLM has no such part"},
      {{"gemma2", "gemma3"}, "blocks.0.attention.q_norm is missing, but Gemma3ForCausalLM has it"},
      {{"pre_norm_outside", "llama"},
       "blocks.0.attention.input_norm has its epsilon outside of the root, but that of "
       "LlamaForCausalLM is inside"},
      {{"prores", "llama"},
       "blocks.0.attention.branch_scale is 0.01, but LlamaForCausalLM has 1.0"},
  };
  for (const auto& [pair, text] : wanted) EXPECT_EQ(difference(pair.first, pair.second), text);
}

TEST(ModelClass, TakesEpsilonCapsAndScaleOfTheScheme) {
  const auto fit = compare(
      bound("extends = \"gemma2\"\n[attention]\nscore_scale = 0.25\nsoftcap = 20", small_shape()),
      *class_named("gemma2"), kSteps);
  EXPECT_EQ(fit.difference, "");
  EXPECT_EQ(fit.epsilon, 1e-6);
  EXPECT_EQ(fit.score_softcap, 20);
  EXPECT_EQ(fit.logits_softcap, 30);
  EXPECT_EQ(fit.score_scale, 0.25);
}

}  // namespace
}  // namespace evenkeel::convert
