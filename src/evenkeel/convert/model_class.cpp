// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/model_class.h"

#include <algorithm>

namespace evenkeel::convert {

namespace {

using norm::Kind;
using norm::Scope;

const std::vector<ClassNorm> kPreNorms = {{"attention.input_norm", "input_layernorm"},
                                          {"feed_forward.input_norm", "post_attention_layernorm"}};

const std::vector<ClassNorm> kQkNorms = {{"attention.q_norm", "self_attn.q_norm"},
                                         {"attention.k_norm", "self_attn.k_norm"}};

const std::vector<ClassNorm> kOutputNorms = {
    {"attention.output_norm", "post_attention_layernorm"},
    {"feed_forward.output_norm", "post_feedforward_layernorm"}};

const std::vector<ClassNorm> kPeriNorms = {
    {"attention.input_norm", "input_layernorm"},
    {"attention.output_norm", "post_attention_layernorm"},
    {"feed_forward.input_norm", "pre_feedforward_layernorm"},
    {"feed_forward.output_norm", "post_feedforward_layernorm"}};

std::vector<ClassNorm> both(std::vector<ClassNorm> some, const std::vector<ClassNorm>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

/// A row per class: see ModelClass.
const std::vector<ModelClass> kClasses = {
    {.name = "llama",
     .architecture = "LlamaForCausalLM",
     .model_type = "llama",
     .scheme = "pre_norm",
     .kind = Kind::rms_norm,
     .norms = kPreNorms},
    {.name = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .model_type = "qwen3",
     .scheme = "pre_qk",
     .kind = Kind::rms_norm,
     .norms = both(kPreNorms, kQkNorms)},
    {.name = "qwen3_moe",
     .architecture = "Qwen3MoeForCausalLM",
     .model_type = "qwen3_moe",
     .scheme = "pre_qk",
     .kind = Kind::rms_norm,
     .has_experts = true,
     .norms = both(kPreNorms, kQkNorms)},
    {.name = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .model_type = "olmo2",
     .scheme = "olmo2",
     .kind = Kind::rms_norm,
     .qk_scope = Scope::token,
     .norms = both(kOutputNorms, kQkNorms)},
    {.name = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .model_type = "gemma2",
     .scheme = "gemma2",
     .kind = Kind::rms_norm,
     .one_plus_w = true,
     .is_gemma = true,
     .has_softcaps = true,
     .norms = kPeriNorms},
    {.name = "gemma3",
     .architecture = "Gemma3ForCausalLM",
     .model_type = "gemma3_text",
     .scheme = "gemma3",
     .kind = Kind::rms_norm,
     .one_plus_w = true,
     .is_gemma = true,
     .norms = both(kPeriNorms, kQkNorms)},
    {.name = "stablelm",
     .architecture = "StableLmForCausalLM",
     .model_type = "stablelm",
     .scheme = "pre_norm_layer_norm",
     .kind = Kind::layer_norm,
     .norms = kPreNorms},
};

}  // namespace

const std::vector<ModelClass>& model_classes() {
  return kClasses;
}

const ModelClass* class_named(const std::string& name) {
  for (const auto& each : model_classes()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

const ModelClass* class_of_type(const std::string& model_type) {
  for (const auto& each : model_classes()) {
    if (each.model_type == model_type) return &each;
  }
  return nullptr;
}

}  // namespace evenkeel::convert
