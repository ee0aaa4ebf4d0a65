// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/tensor_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "convert/support.h"

namespace evenkeel::convert {
namespace {

using Shape = std::vector<std::int64_t>;

std::map<std::string, MappedTensor> by_name(const std::vector<MappedTensor>& map) {
  std::map<std::string, MappedTensor> all;
  for (const auto& each : map) EXPECT_TRUE(all.emplace(each.name, each).second) << each.name;
  return all;
}

std::map<std::string, MappedTensor> to_class(const norm::Scheme& scheme, const char* name,
                                             bool tied = true) {
  return by_name(map_to_class({.scheme = &scheme, .own_rows = 64, .rows = 5, .tied = tied},
                              *class_named(name)));
}

void expect_place(const MappedTensor& tensor, const Shape& shape, const std::string& own,
                  std::int64_t first) {
  EXPECT_EQ(tensor.shape, shape) << tensor.name;
  EXPECT_EQ(tensor.own, own) << tensor.name;
  EXPECT_EQ(tensor.first, first) << tensor.name;
}

TEST(TensorMap, OfLlama) {
  const auto scheme = bound("pre_norm", small_shape());
  const auto map = to_class(scheme, "llama", /*tied=*/false);
  EXPECT_EQ(map.size(), 3 + 2 * 9U);
  expect_place(map.at("model.embed_tokens.weight"), {5, 8}, "embedding.weight", 0);
  expect_place(map.at("lm_head.weight"), {5, 8}, "head.weight", 0);
  const std::string layer = "model.layers.1.";
  const std::string attention = "blocks.1.attention.", dense = "blocks.1.feed_forward.";
  expect_place(map.at(layer + "self_attn.q_proj.weight"), {8, 8}, attention + "qkv.weight", 0);
  expect_place(map.at(layer + "self_attn.k_proj.weight"), {4, 8}, attention + "qkv.weight", 64);
  expect_place(map.at(layer + "self_attn.v_proj.weight"), {4, 8}, attention + "qkv.weight", 96);
  expect_place(map.at(layer + "self_attn.o_proj.weight"), {8, 8}, attention + "output.weight", 0);
  expect_place(map.at(layer + "mlp.up_proj.weight"), {3, 8}, dense + "up_gate.weight", 0);
  expect_place(map.at(layer + "mlp.gate_proj.weight"), {3, 8}, dense + "up_gate.weight", 24);
  expect_place(map.at(layer + "mlp.down_proj.weight"), {8, 3}, dense + "down.weight", 0);
  expect_place(map.at(layer + "post_attention_layernorm.weight"), {8}, dense + "input_norm.gain",
               0);
}

TEST(TensorMap, FoldsFactorsAndFormsOfGains) {
  const auto shape = small_shape();
  const auto scaled = bound("layer_norm_scaling", shape);
  const auto gain = to_class(scaled, "llama").at("model.layers.1.input_layernorm.weight");
  EXPECT_DOUBLE_EQ(gain.factor, 1 / std::sqrt(2.0));
  EXPECT_EQ(gain.offset, 0);
  const auto one_plus =
      bound("extends = \"pre_norm\"\nnorm = { kind = \"rms_norm\", gain_form = \"1+w\" }", shape);
  EXPECT_EQ(to_class(one_plus, "llama").at("model.norm.weight").offset, 1);
  const auto gemma = bound("gemma2", shape);
  EXPECT_EQ(to_class(gemma, "gemma2").at("model.norm.weight").offset, 0);
  const auto plain =
      bound("extends = \"gemma2\"\nnorm = { kind = \"rms_norm\", epsilon = 1e-6 }", shape);
  EXPECT_EQ(to_class(plain, "gemma2").at("model.norm.weight").offset, -1);
}

TEST(TensorMap, ANormWithoutGainIsAConstant) {
  const auto scheme = bound(
      "extends = \"pre_norm\"\nnorm = { kind = \"rms_norm\", affine = \"none\" }", small_shape());
  const auto gain = to_class(scheme, "llama").at("model.norm.weight");
  EXPECT_EQ(gain.own, "");
  EXPECT_EQ(gain.offset, 1);
  const auto layer_norm =
      bound("extends = \"pre_norm\"\nnorm = { kind = \"layer_norm\", affine = \"vector\" }",
            small_shape());
  const auto map = to_class(layer_norm, "stablelm");
  EXPECT_EQ(map.at("model.norm.weight").own, "final_norm.gain");
  EXPECT_EQ(map.at("model.norm.bias").own, "");
  EXPECT_EQ(map.at("model.norm.bias").offset, 0);
}

TEST(TensorMap, OfExperts) {
  auto shape = small_shape();
  shape.experts = {.count = 4, .active = 2, .dense_layers = 1};
  const auto scheme = bound("pre_qk", shape);
  const auto map = to_class(scheme, "qwen3_moe");
  expect_place(map.at("model.layers.0.mlp.up_proj.weight"), {6, 8},
               "blocks.0.feed_forward.up_gate.weight", 0);
  const std::string own = "blocks.1.feed_forward.experts.",
                    theirs = "model.layers.1.mlp.experts.3.";
  expect_place(map.at(theirs + "up_proj.weight"), {3, 8}, own + "up_gate.weight", 3 * 48);
  expect_place(map.at(theirs + "gate_proj.weight"), {3, 8}, own + "up_gate.weight", 3 * 48 + 24);
  expect_place(map.at(theirs + "down_proj.weight"), {8, 3}, own + "down.weight", 3 * 24);
  expect_place(map.at("model.layers.1.mlp.gate.weight"), {4, 8},
               "blocks.1.feed_forward.router.weight", 0);
}

/// The names of EvenkeelForCausalLM cover all values of all tensors once.
TEST(TensorMap, OfEvenkeelHasAllTensorsOfEachScheme) {
  auto experts = small_shape();
  experts.layers = 3;
  experts.experts = {.count = 4, .active = 2, .shared = 1, .dense_layers = 1, .has_bias = true};
  for (const auto& name : config::catalogue()) {
    for (const auto& shape : {small_shape(), experts}) {
      if (shape.is_mixture() && name.starts_with("ngpt")) continue;  // for dense models only
      const auto scheme = bound(name, shape);
      std::map<std::string, std::int64_t> left;
      for (const auto& spec : norm::parameter_specs(scheme, 64, false))
        left[spec.name] = spec.numel();
      const auto map =
          by_name(map_to_evenkeel({.scheme = &scheme, .own_rows = 64, .rows = 64, .tied = false}));
      for (const auto& [theirs, tensor] : map) left.at(tensor.own) -= tensor.numel();
      for (const auto& [own, count] : left) EXPECT_EQ(count, 0) << name << ": " << own;
    }
  }
}

TEST(TensorMap, NamesOfEvenkeel) {
  const auto name_of = [](const std::string& scheme_name, const std::string& own) {
    const auto scheme = bound(scheme_name, small_shape());
    for (const auto& each : map_to_evenkeel({.scheme = &scheme, .own_rows = 64, .rows = 64})) {
      if (each.own == own) return each.name;
    }
    return std::string();
  };
  EXPECT_EQ(name_of("pre_norm", "final_norm.gain"), "model.norm.weight");
  EXPECT_EQ(name_of("pre_norm_layer_norm", "final_norm.bias"), "model.norm.bias");
  EXPECT_EQ(name_of("dyt", "blocks.1.attention.input_norm.alpha"),
            "model.layers.1.self_attn.input_norm.alpha");
  EXPECT_EQ(name_of("rezero", "blocks.0.feed_forward.branch_scale"),
            "model.layers.0.mlp.branch_scale");
  EXPECT_EQ(name_of("weight_norm", "blocks.0.attention.q.row_gain"),
            "model.layers.0.self_attn.q.row_gain");
  EXPECT_EQ(name_of("batch_norm", "final_norm.running_mean"), "model.norm.running_mean");
}

}  // namespace
}  // namespace evenkeel::convert
