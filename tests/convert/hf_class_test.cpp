// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/hf_class.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "convert/support.h"
#include "evenkeel/convert/hf_config.h"

namespace evenkeel::convert {
namespace {

using Json = nlohmann::json;

Json llama() {
  return {{"model_type", "llama"},
          {"hidden_size", 16},
          {"intermediate_size", 24},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 4},
          {"vocab_size", 257},
          {"max_position_embeddings", 32},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 500.0},
          {"hidden_act", "silu"},
          {"tie_word_embeddings", false}};
}

Json gemma(const char* type) {
  auto json = llama();
  json["model_type"] = type;
  json["rms_norm_eps"] = 1e-6;
  json["hidden_activation"] = "silu";
  json["query_pre_attn_scalar"] = 4;
  json["sliding_window"] = 32;
  json["tie_word_embeddings"] = true;
  if (std::string(type) == "gemma2") {
    json["attn_logit_softcapping"] = 50.0;
    json["final_logit_softcapping"] = 30.0;
  }
  return json;
}

/// The configuration of a config.json, or the message without the path.
struct Taken {
  config::Config config;
  std::string message;
};

/// \param before  the defaults, or the configuration of an exported run
Taken take(const Json& json, const config::Config& before = {}) {
  const TestFolder folder;
  folder.write("config.json", json.dump());
  Taken taken{.config = before, .message = {}};
  taken.message = message_of([&] {
    const HfConfig hf(folder.path());
    const auto* const model_class = imported_class(hf);
    if (model_class != nullptr) take_class(hf, *model_class, taken.config);
  });
  const auto prefix = folder.path().string() + "/config.json: ";
  if (taken.message.starts_with(prefix)) taken.message = taken.message.substr(prefix.size());
  return taken;
}

std::string refused(Json json, const char* key, const Json& value) {
  json[key] = value;
  return take(json).message;
}

TEST(HfClass, SizesAndSchemeOfLlama) {
  const auto taken = take(llama());
  ASSERT_EQ(taken.message, "");
  const auto& model = taken.config.model;
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.width, 16);
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.context, 32);
  EXPECT_EQ(model.rope_theta, 500);
  EXPECT_FALSE(model.tied);
  EXPECT_TRUE(config::is_of_catalogue(taken.config.scheme));
  EXPECT_EQ(taken.config.scheme.name, "pre_norm");
}

TEST(HfClass, EpsilonAndCapsGoIntoTheScheme) {
  auto json = llama();
  json["rms_norm_eps"] = 1e-6;
  const auto scheme = config::bind(take(json).config.scheme, small_shape());
  EXPECT_EQ(scheme.final->epsilon, 1e-6);
  EXPECT_EQ(compare(scheme, *class_named("llama"), {}).difference, "");
  json = gemma("gemma2");
  EXPECT_EQ(take(json).config.scheme.name, "gemma2");
  json.erase("attn_logit_softcapping");  // the default of the class; null is none
  json.erase("final_logit_softcapping");
  EXPECT_EQ(take(json).config.scheme.name, "gemma2");
  json["attn_logit_softcapping"] = nullptr;
  json["final_logit_softcapping"] = 15;
  json["query_pre_attn_scalar"] = 9;
  json["tie_word_embeddings"] = false;
  const auto bound = config::bind(take(json).config.scheme, small_shape());
  const auto fit = compare(bound, *class_named("gemma2"), {});
  EXPECT_EQ(fit.difference, "");
  EXPECT_EQ(fit.score_softcap, std::nullopt);
  EXPECT_EQ(fit.logits_softcap, 15);
  EXPECT_DOUBLE_EQ(*fit.score_scale, 1.0 / 3);
  EXPECT_EQ(bound.tied, false);
}

TEST(HfClass, RotaryEmbeddingOfBothSpellings) {
  auto json = llama();
  json.erase("rope_theta");
  EXPECT_EQ(take(json).config.model.rope_theta, 10000);
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 700.0}};
  EXPECT_EQ(take(json).config.model.rope_theta, 700);
  json = gemma("gemma3_text");
  json.erase("rope_theta");
  const Json own = {{"rope_type", "default"}, {"rope_theta", 800.0}};
  json["rope_parameters"] = {{"full_attention", own}, {"sliding_attention", own}};
  EXPECT_EQ(take(json).config.model.rope_theta, 800);
  json["rope_parameters"]["sliding_attention"]["rope_theta"] = 10.0;
  json["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_NE(take(json).message.find("our layers have one rotary embedding"), std::string::npos);
}

// transformers 5.24 takes rope_scaling in place of rope_parameters, unless it is empty.
TEST(HfClass, ScalingMayHaveTheTheta) {
  auto json = llama();
  json["rope_scaling"] = {{"rope_type", "default"}, {"rope_theta", 20000.0}};
  EXPECT_EQ(take(json).config.model.rope_theta, 20000);
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 700.0}};
  EXPECT_EQ(take(json).config.model.rope_theta, 20000);
  json["rope_scaling"] = Json::object();
  EXPECT_EQ(take(json).config.model.rope_theta, 700);
  json["rope_scaling"] = {{"rope_type", "default"}};
  EXPECT_EQ(take(json).config.model.rope_theta, 500);
  json["rope_scaling"] = {{"full_attention", {{"rope_theta", 700.0}}}};
  EXPECT_EQ(take(json).message,
            "rope_scaling must be one table for all layers, but is "
            "{\"full_attention\":{\"rope_theta\":700.0}}; our layers have one rotary embedding");
}

// Each of two keys may have the theta of layers with windows, and each of two the layers.
TEST(HfClass, ThetaOfGemma3IsThatOfAllLayers) {
  const std::string by_key =
      "rope_local_base_freq must be rope_theta (500.0), but is 10.0; our layers have one rotary "
      "embedding";
  auto json = gemma("gemma3_text");
  json["rope_local_base_freq"] = 10.0;
  EXPECT_EQ(take(json).message, by_key);
  json["layer_types"] = {"sliding_attention", "full_attention"};
  EXPECT_EQ(take(json).message, by_key);
  json["layer_types"] = {"full_attention", "full_attention"};
  EXPECT_EQ(take(json).config.model.rope_theta, 500);
  json.erase("layer_types");
  json["sliding_window_pattern"] = 1;
  json["sliding_window"] = 4;
  EXPECT_EQ(take(json).config.model.rope_theta, 500);
  EXPECT_EQ(refused(json, "sliding_window_pattern", 0),
            "sliding_window_pattern must be at least 1, but is 0");
  json = gemma("gemma3_text");
  json["rope_parameters"] = {{"full_attention", {{"rope_theta", 800.0}}},
                             {"sliding_attention", {{"rope_theta", 10.0}}}};
  EXPECT_NE(take(json).message.find("rope_parameters must be equal for all layers"),
            std::string::npos);
  json["rope_parameters"]["sliding_attention"] = nullptr;  // then it is rope_local_base_freq
  EXPECT_NE(take(json).message.find("rope_local_base_freq must be rope_theta (800.0)"),
            std::string::npos);
  json["rope_local_base_freq"] = 900.0;
  json["rope_scaling"] = {{"rope_type", "default"}, {"rope_theta", 900.0}};  // of full attention
  EXPECT_EQ(take(json).config.model.rope_theta, 900);
  json["rope_parameters"] = {{"rope_theta", 900.0}};
  EXPECT_NE(take(json).message.find("must be tables full_attention and sliding_attention"),
            std::string::npos);
}

TEST(HfClass, RefusesByKey) {
  const auto json = llama();
  EXPECT_EQ(
      refused(json, "model_type", "gpt2"),
      "model_type must be one of llama, qwen3, qwen3_moe, olmo2, gemma2, gemma3_text, stablelm, "
      "mistral, evenkeel, but is \"gpt2\"; other architectures are not imported");
  EXPECT_EQ(refused(json, "attention_bias", true),
            "attention_bias must be false, but is true; our projections have no biases");
  EXPECT_EQ(refused(json, "mlp_bias", true),
            "mlp_bias must be false, but is true; our projections have no biases");
  EXPECT_EQ(refused(json, "hidden_act", "gelu"),
            "hidden_act must be \"silu\", but is \"gelu\"; our FFN is SwiGLU");
  EXPECT_EQ(refused(json, "rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}),
            "rope_type must be \"default\", but is \"llama3\"; scaled rotary embeddings are not "
            "supported");
  EXPECT_EQ(refused(json, "rope_parameters", {{"rope_type", "yarn"}}),
            "rope_type must be \"default\", but is \"yarn\"; scaled rotary embeddings are not "
            "supported");
  EXPECT_EQ(refused(json, "rope_parameters", 5),
            "rope_parameters must be an object, but is not; scaled rotary embeddings are not "
            "supported");
  EXPECT_EQ(
      refused(json, "quantization_config", {{"bits", 4}}),
      "quantization_config must be absent, but is {\"bits\":4}; quantized weights are not read");
  EXPECT_EQ(refused(json, "head_dim", 8),
            "head_dim must be hidden_size / num_attention_heads (4), but is 8; our heads have that "
            "width");
  EXPECT_EQ(refused(json, "num_attention_heads", 3),
            "num_attention_heads must be a divisor of hidden_size (16), but is 3");
  EXPECT_EQ(refused(json, "hidden_size", "16"), "hidden_size must be an integer, but is \"16\"");
  EXPECT_EQ(refused(json, "rms_norm_eps", nullptr), "has no rms_norm_eps");
}

TEST(HfClass, RefusesPartsOfOtherClasses) {
  auto qwen = llama();
  qwen["model_type"] = "qwen3";
  EXPECT_EQ(take(qwen).config.scheme.name, "pre_qk");
  qwen["use_sliding_window"] = true;
  EXPECT_EQ(
      refused(qwen, "sliding_window", 16),
      "sliding_window must be at least max_position_embeddings (32), but is 16; our attention "
      "has no sliding windows");
  qwen.erase("head_dim");
  EXPECT_NE(take(qwen).message.find("without it the class has 128"), std::string::npos);
  auto stable = llama();
  stable["model_type"] = "stablelm";
  stable["layer_norm_eps"] = 1e-5;
  EXPECT_EQ(take(stable).message,
            "partial_rotary_factor must be 1, but is missing; our rotary embedding rotates whole "
            "heads");
  EXPECT_EQ(refused(stable, "rope_parameters", {{"partial_rotary_factor", 0.25}}),
            "rope_parameters.partial_rotary_factor must be 1, but is 0.25; our rotary embedding "
            "rotates whole heads");
  stable["partial_rotary_factor"] = 1.0;
  EXPECT_EQ(take(stable).message, "");
  EXPECT_EQ(refused(stable, "use_parallel_residual", true),
            "use_parallel_residual must be false, but is true; our models have no such part");
  auto gelu = gemma("gemma3_text");
  EXPECT_EQ(take(gelu).message,
            "rope_local_base_freq must be rope_theta (500.0), but is missing; our layers have one "
            "rotary embedding");
  gelu["rope_local_base_freq"] = 500.0;
  EXPECT_EQ(take(gelu).message, "");
  gelu.erase("hidden_activation");
  gelu.erase("hidden_act");
  EXPECT_EQ(take(gelu).message,
            "hidden_activation must be \"silu\", but is missing; without it the class has "
            "gelu_pytorch_tanh, and our FFN is SwiGLU");
  EXPECT_NE(refused(gemma("gemma2"), "sliding_window", 8), "");
}

TEST(HfClass, OfMistralIsLlamaWithoutAWindow) {
  auto json = llama();
  json["model_type"] = "mistral";
  json["sliding_window"] = nullptr;
  const auto taken = take(json);
  ASSERT_EQ(taken.message, "");
  EXPECT_EQ(taken.config.scheme.name, "pre_norm");
  EXPECT_EQ(refused(json, "sliding_window", 32), "");
  EXPECT_EQ(refused(json, "sliding_window", 31),
            "sliding_window must be at least max_position_embeddings (32), but is 31; our "
            "attention has no sliding windows");
  json.erase("sliding_window");  // then it is 4096
  EXPECT_EQ(take(json).message, "");
  EXPECT_EQ(refused(json, "max_position_embeddings", 8192),
            "sliding_window must be at least max_position_embeddings (8192), but is missing; our "
            "attention has no sliding windows");
  json["num_attention_heads"] = 16;
  json.erase("num_key_value_heads");  // then it is 8
  json.erase("head_dim");
  EXPECT_EQ(take(json).config.model.kv_heads, 8);
}

Json qwen3_moe() {
  auto json = llama();
  json["model_type"] = "qwen3_moe";
  json["num_local_experts"] = 4;
  json["num_experts_per_tok"] = 2;
  json["moe_intermediate_size"] = 12;
  json["mlp_only_layers"] = {0};
  return json;
}

TEST(HfClass, OfExperts) {
  const auto json = qwen3_moe();
  const auto taken = take(json);
  ASSERT_EQ(taken.message, "");
  EXPECT_EQ(taken.config.experts.count, 4);
  EXPECT_EQ(taken.config.experts.dense_layers, 1);
  EXPECT_EQ(taken.config.model.inner, 12);
  EXPECT_EQ(refused(json, "mlp_only_layers", {1}),
            "mlp_only_layers must be the first layers, as [0, 1], but is [1]");
  EXPECT_EQ(refused(json, "intermediate_size", 23),
            "intermediate_size must be moe_intermediate_size * num_experts_per_tok, but is 23; our "
            "dense layers have that width");
}

// evenkeel.json of an exported run has the coefficients of the router's losses.
TEST(HfClass, KeepsTheRouterLossesOfAnExportedMixture) {
  config::Config exported;
  exported.experts = {
      .count = 8, .active = 3, .shared = 1, .balance = 0.03, .router_z = 0.004, .bias_rate = 0.5};
  auto json = qwen3_moe();
  json["router_aux_loss_coef"] = 0.015;
  const auto taken = take(json, exported);
  ASSERT_EQ(taken.message, "");
  const auto& experts = taken.config.experts;
  EXPECT_EQ(experts.balance, 0.03);
  EXPECT_EQ(experts.router_z, 0.004);
  EXPECT_EQ(experts.count, 4);
  EXPECT_EQ(experts.active, 2);
  EXPECT_EQ(experts.shared, 0);
  EXPECT_EQ(experts.bias_rate, 0);
  const auto other = take(json).config.experts;  // a model of transformers
  EXPECT_EQ(other.balance, config::Experts().balance);
  EXPECT_EQ(other.router_z, config::Experts().router_z);
  EXPECT_EQ(take(llama(), exported).config.experts.balance, config::Experts().balance);
  EXPECT_EQ(take(llama(), exported).config.experts.count, 0);
}

// load_balancing_loss_func of transformers is k for equal counts, our balance loss is 1.
TEST(HfClass, HasTheBalanceLossOfTransformers) {
  auto shape = small_shape();
  shape.experts = {.count = 4, .active = 2};
  const auto scheme = bound("pre_qk", shape);
  config::Config config;
  config.experts.balance = 0.02;
  const HfModel model = {
      .scheme = &scheme, .steps = {}, .config = &config, .end_of_text = {}, .dtype = "float32"};
  const auto json = class_config_json(model, *class_named("qwen3_moe"), {});
  EXPECT_EQ(json.at("router_aux_loss_coef"), 0.01);
}

}  // namespace
}  // namespace evenkeel::convert
