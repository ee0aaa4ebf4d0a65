// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/hf_config.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

#include "evenkeel/norm/scheme_json.h"

namespace evenkeel::convert {

namespace {

using Json = nlohmann::ordered_json;

/// An integral value without ".0": 10000.0 becomes 10000.0 still, 64.0 of a count becomes 64.
Json json_number(double value) {
  constexpr double kExact = 1e15;
  if (value == std::floor(value) && std::fabs(value) < kExact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

void add_token_ids(Json& out, const HfModel& model) {
  if (model.token_ids != nullptr) {
    for (const auto& [key, id] : model.token_ids->items()) out[key] = id;
    if (!out.contains("eos_token_id") && model.end_of_text)
      out["eos_token_id"] = *model.end_of_text;
    return;
  }
  const Json id = model.end_of_text ? Json(*model.end_of_text) : Json();
  for (const auto* const key : {"bos_token_id", "eos_token_id", "pad_token_id"}) out[key] = id;
}

/// The keys that all classes have.
void add_sizes(Json& out, const HfModel& model) {
  const auto& shape = model.scheme->shape;
  const bool has_dense_width = shape.is_mixture();
  out["hidden_size"] = shape.width;
  out["intermediate_size"] =
      has_dense_width ? shape.dense_ffn_multiple() * shape.inner : shape.inner;
  out["num_hidden_layers"] = shape.layers;
  out["num_attention_heads"] = shape.heads;
  out["num_key_value_heads"] = shape.kv_heads;
  out["head_dim"] = shape.head_width();
  out["vocab_size"] = model.rows;
  out["max_position_embeddings"] = shape.context;
  out["rope_theta"] = model.config->model.rope_theta;
}

/// "rope_parameters" of transformers 5, and what earlier versions read.
void add_rope(Json& out, const HfModel& model, const ModelClass& model_class) {
  const Json plain = {{"rope_type", "default"}, {"rope_theta", model.config->model.rope_theta}};
  const std::string type = model_class.model_type;
  if (type == "gemma3_text") {
    out["rope_parameters"] = {{"full_attention", plain}, {"sliding_attention", plain}};
    out["rope_local_base_freq"] = model.config->model.rope_theta;
    return;
  }
  out["rope_parameters"] = plain;
  if (type != "stablelm") return;
  out["rope_parameters"]["partial_rotary_factor"] = 1.0;
  out["partial_rotary_factor"] = 1.0;
}

void add_experts(Json& out, const HfModel& model) {
  const auto& shape = model.scheme->shape;
  out["moe_intermediate_size"] = shape.inner;
  out["num_experts"] = shape.experts.count;
  out["num_experts_per_tok"] = shape.experts.active;
  out["norm_topk_prob"] = shape.experts.renormalize;
  out["decoder_sparse_step"] = 1;
  auto dense = Json::array();
  for (std::int64_t i = 0; i < shape.experts.dense_layers; ++i) dense.push_back(i);
  out["mlp_only_layers"] = dense;
  out["output_router_logits"] = false;
  // The loss of transformers divides counts by the tokens, ours by the choices of all tokens: equal
  // counts give k there, 1 here.
  out["router_aux_loss_coef"] =
      model.config->experts.balance / static_cast<double>(shape.experts.active);
}

void add_gemma(Json& out, const HfModel& model, const ModelClass& model_class,
               const ClassFit& fit) {
  const auto& shape = model.scheme->shape;
  const double scale = fit.score_scale.value_or(0);
  // Rounded to 12 digits: (144^-0.5)^-2 is not 144 in float64.
  constexpr double kDigits = 1e9;
  const double scalar = fit.score_scale ? std::round(kDigits / (scale * scale)) / kDigits
                                        : static_cast<double>(shape.head_width());
  out["hidden_activation"] = "silu";
  out["query_pre_attn_scalar"] = json_number(scalar);
  out["layer_types"] =
      std::vector<std::string>(static_cast<std::size_t>(shape.layers), "full_attention");
  out["sliding_window"] = shape.context;
  if (!model_class.has_softcaps) return;
  out["attn_logit_softcapping"] = fit.score_softcap ? Json(*fit.score_softcap) : Json();
  out["final_logit_softcapping"] = fit.logits_softcap ? Json(*fit.logits_softcap) : Json();
}

}  // namespace

Json class_config_json(const HfModel& model, const ModelClass& model_class, const ClassFit& fit) {
  Json out = {{"architectures", {model_class.architecture}},
              {"model_type", model_class.model_type}};
  add_sizes(out, model);
  add_rope(out, model, model_class);
  const std::string type = model_class.model_type;
  out[type == "stablelm" ? "layer_norm_eps" : "rms_norm_eps"] = fit.epsilon;
  out["hidden_act"] = "silu";
  out["attention_bias"] = false;
  out["attention_dropout"] = 0.0;
  if (type == "llama") out["mlp_bias"] = false;
  if (type == "stablelm") {
    out["use_qkv_bias"] = false;
    out["qk_layernorm"] = false;
    out["use_parallel_residual"] = false;
  }
  if (type == "qwen3" || type == "qwen3_moe") {
    out["use_sliding_window"] = false;
    out["sliding_window"] = Json();
  }
  if (model_class.has_experts) add_experts(out, model);
  if (model_class.is_gemma) add_gemma(out, model, model_class, fit);
  out["tie_word_embeddings"] = model.config->model.tied;
  add_token_ids(out, model);
  out["dtype"] = model.dtype;
  out["use_cache"] = model.uses_cache;
  return out;
}

Json evenkeel_config_json(const HfModel& model) {
  const auto& shape = model.scheme->shape;
  Json out = {{"architectures", {"EvenkeelForCausalLM"}},
              {"model_type", "evenkeel"},
              {"auto_map",
               {{"AutoConfig", "configuration_evenkeel.EvenkeelConfig"},
                {"AutoModel", "modeling_evenkeel.EvenkeelModel"},
                {"AutoModelForCausalLM", "modeling_evenkeel.EvenkeelForCausalLM"}}}};
  add_sizes(out, model);
  out["intermediate_size"] = shape.inner;
  out["vocabulary"] = shape.vocabulary;
  out["num_experts"] = shape.experts.count;
  out["num_experts_per_tok"] = shape.is_mixture() ? shape.experts.active : 0;
  out["num_shared_experts"] = shape.experts.shared;
  out["num_dense_layers"] = shape.experts.dense_layers;
  out["norm_topk_prob"] = shape.experts.renormalize;
  out["tie_word_embeddings"] = model.config->model.tied;
  add_token_ids(out, model);
  out["dtype"] = model.dtype;
  out["use_cache"] = model.uses_cache;
  out["scheme"] = norm::scheme_json(*model.scheme, model.steps);
  out["scheme"].erase("name");  // an import has a name of its own for a scheme at a step
  return out;
}

Json generation_config_json(const HfModel& model) {
  Json out;
  add_token_ids(out, model);
  out["use_cache"] = model.uses_cache;
  return out;
}

}  // namespace evenkeel::convert
