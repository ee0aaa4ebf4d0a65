// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/hf_class.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/scheme/scheme.h"

namespace evenkeel::convert {

namespace {

constexpr double kUsualTheta = 10000;
constexpr const char* kMistral = "mistral";  // Llama with a window, if sliding_window is not null

bool is_mistral(const HfConfig& hf) {
  return hf.string("model_type") == kMistral;
}

bool is_type(const ModelClass& model_class, std::string_view type) {
  return type == model_class.model_type;
}

/// \throws Error (data) unless the flag is missing or has this value
void require_flag(const HfConfig& hf, const char* key, bool wanted, const char* what) {
  if (hf.flag(key, wanted) != wanted) hf.refuse(key, wanted ? "true" : "false", what);
}

/// The key of the rotary parameters that transformers takes: rope_scaling in place of
/// rope_parameters, unless it is empty.
const char* rope_key(const HfConfig& hf) {
  const bool has_scaling = hf.has("rope_scaling") && !hf.json().at("rope_scaling").empty();
  return has_scaling ? "rope_scaling" : "rope_parameters";
}

/// StableLM rotates a quarter of each head by default.
void check_rotated_part(const HfConfig& hf) {
  constexpr const char* kKey = "partial_rotary_factor";
  const auto rope = hf.json().value(rope_key(hf), nlohmann::json::object());
  const bool has_own = rope.is_object() && rope.contains(kKey);
  constexpr const char* kWhole = "our rotary embedding rotates whole heads";
  if (has_own ? rope.at(kKey) == 1 : hf.number(kKey, 0) == 1) return;
  if (!has_own) hf.refuse(kKey, "1", kWhole);
  throw Error(Exit::data, text(hf.path(), ": ", rope_key(hf), ".", kKey, " must be 1, but is ",
                               rope.at(kKey).dump(), "; ", kWhole));
}

void refuse_unsupported(const HfConfig& hf, const ModelClass& model_class) {
  if (hf.has("quantization_config")) {
    hf.refuse("quantization_config", "absent", "quantized weights are not read");
  }
  constexpr const char* kNoBias = "our projections have no biases";
  for (const auto* const key : {"attention_bias", "mlp_bias", "use_qkv_bias"}) {
    require_flag(hf, key, false, kNoBias);
  }
  constexpr const char* kNoPart = "our models have no such part";
  for (const auto* const key :
       {"qk_layernorm", "use_parallel_residual", "use_bidirectional_attention"}) {
    require_flag(hf, key, false, kNoPart);
  }
  const std::string usual = model_class.is_gemma ? "gelu_pytorch_tanh" : "silu";
  const auto* const key =
      model_class.is_gemma && !hf.has("hidden_act") ? "hidden_activation" : "hidden_act";
  for (const auto* const each : {"hidden_activation", "hidden_act"}) {
    if (hf.has(each) && hf.string(each) != "silu") hf.refuse(each, "\"silu\"", "our FFN is SwiGLU");
  }
  if (!hf.has(key) && usual != "silu") {
    hf.refuse(key, "\"silu\"", text("without it the class has ", usual, ", and our FFN is SwiGLU"));
  }
  if (is_type(model_class, "stablelm")) check_rotated_part(hf);
}

/// True if a layer has a window. Without layer_types, transformers derives them: in Gemma 3 each
/// layer but every sliding_window_pattern-th one has a window.
bool has_sliding_layers(const HfConfig& hf, const ModelClass& model_class) {
  if (is_mistral(hf)) return hf.has("sliding_window") || hf.is_absent("sliding_window");
  if (hf.has("layer_types")) {
    const auto& types = hf.json().at("layer_types");
    const auto is_full = [](const nlohmann::json& each) {
      return each.is_string() && each.get<std::string>() == "full_attention";
    };
    if (!types.is_array()) hf.refuse("layer_types", "a list");
    return !std::all_of(types.begin(), types.end(), is_full);
  }
  if (is_type(model_class, "gemma3_text")) {
    constexpr std::int64_t kUsualPattern = 6;
    const auto pattern = hf.integer("sliding_window_pattern", kUsualPattern);
    if (pattern < 1) hf.refuse("sliding_window_pattern", "at least 1");
    return pattern > 1;
  }
  const bool is_qwen = is_type(model_class, "qwen3") || is_type(model_class, "qwen3_moe");
  return model_class.is_gemma || (is_qwen && hf.flag("use_sliding_window", false));
}

/// Refuses windows of attention that are shorter than the context.
void check_windows(const HfConfig& hf, const ModelClass& model_class) {
  const auto context = hf.integer("max_position_embeddings");
  if (!has_sliding_layers(hf, model_class)) return;
  constexpr std::int64_t kMistralWindow = 4096;
  if (hf.integer("sliding_window", is_mistral(hf) ? kMistralWindow : 0) >= context) return;
  hf.refuse("sliding_window", text("at least max_position_embeddings (", context, ")"),
            "our attention has no sliding windows");
}

/// The theta of one table of rotary parameters, after check of its type.
double theta_of(const HfConfig& hf, const nlohmann::json& rope, double fallback) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Exit::data, text(hf.path(), ": ", what,
                                 "; scaled rotary embeddings are not "
                                 "supported"));
  };
  if (!rope.is_object()) refuse("rope_parameters must be an object, but is not");
  const auto type = rope.contains("rope_type") ? rope.at("rope_type")
                                               : rope.value("type", nlohmann::json("default"));
  if (type != "default") refuse(text("rope_type must be \"default\", but is ", type.dump()));
  if (rope.contains("partial_rotary_factor") && rope.at("partial_rotary_factor") != 1) {
    refuse(
        text("partial_rotary_factor must be 1, but is ", rope.at("partial_rotary_factor").dump()));
  }
  const auto theta = rope.find("rope_theta");
  if (theta == rope.end() || theta->is_null()) return fallback;
  if (!theta->is_number()) refuse("rope_theta must be a number, but is not");
  return theta->get<double>();
}

/// The theta of Gemma 3, whose layers with and without windows have tables of their own.
double gemma3_theta(const HfConfig& hf, const ModelClass& model_class) {
  constexpr double kUsualGlobalTheta = 1e6;
  constexpr const char* kOneTable = "our layers have one rotary embedding";
  const auto rope = hf.has("rope_parameters") ? hf.json().at("rope_parameters")
                                              : nlohmann::json(nlohmann::json::object());
  const auto table = [&](const char* key) {
    const bool has = rope.is_object() && rope.contains(key) && !rope.at(key).is_null();
    return has ? rope.at(key) : nlohmann::json(nlohmann::json::object());
  };
  auto full = table("full_attention");
  const auto local = table("sliding_attention");
  if (!rope.is_object() || (!rope.empty() && full.empty() && local.empty())) {
    hf.refuse("rope_parameters", "tables full_attention and sliding_attention");
  }
  if (hf.has("rope_scaling")) {  // of the layers without windows
    const auto& scaling = hf.json().at("rope_scaling");
    if (!scaling.is_object() || !full.is_object()) return theta_of(hf, scaling, 0);
    full.update(scaling);
  }
  const double theta = theta_of(hf, full, hf.number("rope_theta", kUsualGlobalTheta));
  const double local_theta = theta_of(hf, local, hf.number("rope_local_base_freq", kUsualTheta));
  if (theta == local_theta || !has_sliding_layers(hf, model_class)) return theta;
  if (local.contains("rope_theta")) {
    hf.refuse("rope_parameters", text("equal for all layers (rope_theta ", shortest(theta), ")"),
              kOneTable);
  }
  hf.refuse("rope_local_base_freq", text("rope_theta (", shortest(theta), ")"), kOneTable);
}

double rope_theta(const HfConfig& hf, const ModelClass& model_class) {
  if (is_type(model_class, "gemma3_text")) return gemma3_theta(hf, model_class);
  const double plain = hf.number("rope_theta", kUsualTheta);
  const auto* const key = rope_key(hf);
  if (!hf.has(key)) return plain;
  const auto& rope = hf.json().at(key);
  if (rope.is_object() && (rope.contains("full_attention") || rope.contains("sliding_attention"))) {
    hf.refuse(key, "one table for all layers", "our layers have one rotary embedding");
  }
  return theta_of(hf, rope, plain);
}

void take_sizes(const HfConfig& hf, const ModelClass& model_class, config::Model& model) {
  model.layers = hf.integer("num_hidden_layers");
  model.width = hf.integer("hidden_size");
  model.heads = hf.integer("num_attention_heads");
  constexpr std::int64_t kMistralKvHeads = 8;
  model.kv_heads =
      hf.integer("num_key_value_heads", is_mistral(hf) ? kMistralKvHeads : model.heads);
  model.inner = hf.integer("intermediate_size");
  model.context = hf.integer("max_position_embeddings");
  model.rope_theta = rope_theta(hf, model_class);
  model.tied = hf.flag("tie_word_embeddings", model_class.is_gemma);
  if (model.heads <= 0 || model.width % model.heads != 0) {
    hf.refuse("num_attention_heads", text("a divisor of hidden_size (", model.width, ")"));
  }
  constexpr std::int64_t kQwenHead = 128, kGemmaHead = 256;
  const auto width = model.width / model.heads;
  const bool is_qwen = is_type(model_class, "qwen3") || is_type(model_class, "qwen3_moe");
  const auto usual = is_qwen ? kQwenHead : model_class.is_gemma ? kGemmaHead : width;
  if (hf.integer("head_dim", usual) == width) return;
  hf.refuse(
      "head_dim", text("hidden_size / num_attention_heads (", width, ")"),
      hf.has("head_dim") ? "our heads have that width" : text("without it the class has ", usual));
}

/// Takes the experts. The coefficients of the router's losses stay: config.json has none of the
/// router z-loss, and router_aux_loss_coef has no effect where output_router_logits is false.
void take_experts(const HfConfig& hf, config::Config& config) {
  auto& experts = config.experts;
  const auto dense_width = config.model.inner;
  config.model.inner = hf.integer("moe_intermediate_size");
  // transformers 5 writes num_local_experts.
  experts.count = hf.integer(hf.has("num_experts") ? "num_experts" : "num_local_experts");
  experts.active = hf.integer("num_experts_per_tok");
  experts.shared = 0;
  experts.bias_rate = 0;
  experts.renormalize = hf.flag("norm_topk_prob", false);
  if (hf.integer("decoder_sparse_step", 1) != 1) {
    hf.refuse("decoder_sparse_step", "1", "our dense layers are the first ones");
  }
  const auto dense = hf.json().value("mlp_only_layers", nlohmann::json::array());
  if (!dense.is_array()) hf.refuse("mlp_only_layers", "a list");
  for (std::size_t i = 0; i < dense.size(); ++i) {
    if (dense[i] != i) hf.refuse("mlp_only_layers", "the first layers, as [0, 1]");
  }
  experts.dense_layers = static_cast<std::int64_t>(dense.size());
  if (dense.empty()) return;
  std::int64_t wanted = 0;
  if (!__builtin_mul_overflow(config.model.inner, experts.active, &wanted) &&
      wanted == dense_width) {
    return;
  }
  hf.refuse("intermediate_size", "moe_intermediate_size * num_experts_per_tok",
            "our dense layers have that width");
}

/// The scheme of the class with the epsilon, caps and scales of config.json.
config::SchemeSource scheme_of_class(const HfConfig& hf, const ModelClass& model_class,
                                     const config::Model& model) {
  const bool is_layer_norm = model_class.kind == norm::Kind::layer_norm;
  const auto epsilon = hf.number(is_layer_norm ? "layer_norm_eps" : "rms_norm_eps");
  auto toml = text("extends = \"", model_class.scheme, "\"\n");
  bool is_own = epsilon != (model_class.is_gemma ? 1e-6 : 1e-5);
  toml += text("norm = { kind = \"", is_layer_norm ? "layer_norm" : "rms_norm",
               "\", epsilon = ", shortest(epsilon),
               model_class.one_plus_w ? ", gain_form = \"1+w\"" : "", " }\n");
  if (model_class.is_gemma && !model.tied) {
    toml += "head = \"untied\"\n";
    is_own = true;
  }
  std::string attention, logits;
  const auto cap = [&](const char* key, double usual, std::string& table) {
    if (!model_class.has_softcaps) {
      if (hf.has(key)) hf.refuse(key, "absent", "the scheme gemma3 has no soft caps");
      return;
    }
    if (hf.is_absent(key) || (hf.has(key) && hf.number(key) == usual)) return;
    table += hf.has(key) ? text("softcap = ", shortest(hf.number(key)), "\n")
                         : std::string("softcap = \"none\"\n");
  };
  if (model_class.is_gemma) {
    constexpr double kScores = 50, kLogits = 30, kUsualScalar = 256;
    cap("attn_logit_softcapping", kScores, attention);
    cap("final_logit_softcapping", kLogits, logits);
    const auto scalar = hf.number("query_pre_attn_scalar", kUsualScalar);
    if (!(scalar > 0)) hf.refuse("query_pre_attn_scalar", "a number > 0");
    const auto head_width = model.width / model.heads;
    if (scalar != static_cast<double>(head_width)) {
      attention += text("score_scale = \"1/sqrt(", shortest(scalar), ")\"\n");
    }
  }
  if (!is_own && attention.empty() && logits.empty()) {
    return config::find_scheme(model_class.scheme);
  }
  if (!attention.empty()) toml += "[attention]\n" + attention;
  if (!logits.empty()) toml += "[logits]\n" + logits;
  return config::inline_scheme(toml, "");
}

}  // namespace

const ModelClass* imported_class(const HfConfig& hf) {
  const auto type = hf.string("model_type");
  if (type == "evenkeel") return nullptr;
  if (type == kMistral) return class_named("llama");
  if (const auto* const found = class_of_type(type)) return found;
  std::string known;
  for (const auto& each : model_classes()) known += text(each.model_type, ", ");
  known += text(kMistral, ", ");
  hf.refuse("model_type", "one of " + known + "evenkeel", "other architectures are not imported");
}

void take_class(const HfConfig& hf, const ModelClass& model_class, config::Config& config) {
  refuse_unsupported(hf, model_class);
  take_sizes(hf, model_class, config.model);
  check_windows(hf, model_class);
  if (model_class.has_experts) {
    take_experts(hf, config);
  } else {
    config.experts = config::Experts();
  }
  config.scheme = scheme_of_class(hf, model_class, config.model);
}

}  // namespace evenkeel::convert
