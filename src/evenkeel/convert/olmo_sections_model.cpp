// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/convert/olmo_scheme.h"
#include "evenkeel/convert/olmo_sections.h"

namespace evenkeel::convert {

namespace {

constexpr std::int64_t kMostSize = 1 << 24;
constexpr std::int64_t kMostLayers = 4096;  // as model.layers

/// A size of OLMo's configuration.
std::int64_t olmo_size(OlmoKeys& keys, const char* key, std::int64_t fallback, const char* as,
                       std::int64_t most = kMostSize) {
  const auto size = keys.integer(key, as).value_or(fallback);
  if (size < 1 || size > most) keys.refuse(key, text("from 1 to ", most), "");
  return size;
}

/// Refuses a flag that our models do not have.
void require_olmo_flag(OlmoKeys& keys, const char* key, bool fallback, bool wanted,
                       const char* why) {
  const auto value = keys.flag(key, "");
  if (value.value_or(fallback) != wanted) {
    keys.refuse(key, wanted ? "true" : "false",
                text(value ? "" : "OLMo's default is the opposite; ", why));
  }
  keys.note_equal(key);
}

/// Dropout changes the training, not the function.
void take_dropout(OlmoKeys& keys, const char* key) {
  constexpr double kOlmoDropout = 0.1;
  const auto value = keys.number(key, "");
  constexpr const char* kWhy = "this program has no dropout";
  if (!value) keys.note_missing(key, shortest(kOlmoDropout), text("OLMo's default; ", kWhy));
  keys.note(key, value.value_or(0) == 0 ? KeyUse::equal : KeyUse::differs,
            value.value_or(0) == 0 ? "" : kWhy);
}

void take_rotary_and_attention(OlmoKeys& keys, config::Config& config) {
  require_olmo_flag(keys, "model.rope", false, true, "all models have rotary embeddings");
  require_olmo_flag(keys, "model.alibi", false, false, "all models have rotary embeddings");
  require_olmo_flag(keys, "model.include_bias", true, false, "matrices have no biases");
  require_olmo_flag(keys, "model.scale_logits", false, false,
                    "write logits = { scale = \"1/sqrt(d)\" } into the scheme");
  if (keys.has("model.clip_qkv")) keys.refuse("model.clip_qkv", "null", "no scheme clips q, k, v");
  keys.note("model.clip_qkv", KeyUse::equal, "");
  for (const auto* const key :
       {"model.attention_dropout", "model.residual_dropout", "model.embedding_dropout"}) {
    take_dropout(keys, key);
  }
  constexpr double kOlmoTheta = 10000;
  config.model.rope_theta =
      keys.number("model.rope_theta", "model.rope_theta").value_or(kOlmoTheta);
}

/// The FFN width: OLMo's hidden size counts up and gate.
std::int64_t olmo_inner(OlmoKeys& keys, std::int64_t width) {
  const auto activation = keys.word("model.activation_type", "").value_or("swiglu");
  if (activation != "swiglu") keys.refuse("model.activation_type", "\"swiglu\"", "");
  keys.note_equal("model.activation_type");
  const bool has_size = keys.has("model.mlp_hidden_size");
  const char* const key = has_size ? "model.mlp_hidden_size" : "model.mlp_ratio";
  constexpr std::int64_t kOlmoRatio = 4;
  const auto ratio = keys.integer("model.mlp_ratio", "model.inner").value_or(kOlmoRatio);
  if (ratio < 1 || ratio > kMostSize / width) keys.refuse("model.mlp_ratio", "smaller", "");
  const auto hidden =
      olmo_size(keys, "model.mlp_hidden_size", ratio * width, "model.inner", 2 * kMostSize);
  if (has_size) {
    keys.note("model.mlp_ratio", KeyUse::no_effect, "model.mlp_hidden_size is there");
  }
  if (hidden % 2 != 0) keys.refuse(key, "even", "SwiGLU has two halves");
  return hidden / 2;
}

void take_olmo_sizes(OlmoKeys& keys, config::Config& config) {
  constexpr std::int64_t kWidth = 768, kHeads = 12, kLayers = 12, kContext = 1024, kTokens = 50257,
                         kRows = 50304;
  auto& model = config.model;
  model.width = olmo_size(keys, "model.d_model", kWidth, "model.width");
  model.heads = olmo_size(keys, "model.n_heads", kHeads, "model.heads");
  model.layers = olmo_size(keys, "model.n_layers", kLayers, "model.layers", kMostLayers);
  model.context = olmo_size(keys, "model.max_sequence_length", kContext, "model.context");
  model.kv_heads = olmo_size(keys, "model.n_kv_heads", model.heads, "model.kv_heads");
  if (keys.flag("model.multi_query_attention", "model.kv_heads").value_or(false)) {
    model.kv_heads = 1;
  }
  model.inner = olmo_inner(keys, model.width);
  model.vocabulary = olmo_size(keys, "model.vocab_size", kTokens, "model.vocabulary");
  const bool is_null = !keys.has("model.embedding_size");
  const auto rows =
      olmo_size(keys, "model.embedding_size", is_null ? std::max(kRows, model.vocabulary) : kRows,
                "model.pad_vocabulary_to");
  if (rows < model.vocabulary) {
    keys.refuse("model.embedding_size", text("at least model.vocab_size (", model.vocabulary, ")"),
                "");
  }
  const auto padded = [&](std::int64_t multiple) {
    return (model.vocabulary + multiple - 1) / multiple * multiple;
  };
  constexpr std::array<std::int64_t, 6> kMultiples = {64, 128, 1, 256, 512, 1024};
  const auto* const fit = std::find_if(kMultiples.begin(), kMultiples.end(),
                                       [&](std::int64_t each) { return padded(each) == rows; });
  model.pad_vocabulary_to = fit == kMultiples.end() ? rows : *fit;
  model.tied = keys.flag("model.weight_tying", "model.tied").value_or(true);
}

void take_olmo_experts(OlmoKeys& keys, config::Config& config) {
  const auto block = keys.word("model.block_type", "").value_or("sequential");
  keys.note_equal("model.block_type");
  if (block == "sequential" || block == "llama") return;
  if (block != "moe") {
    keys.refuse("model.block_type", "\"sequential\", \"llama\" or \"moe\"", "");
  }
  constexpr std::int64_t kExperts = 8, kTopK = 2, kMostExperts = 1 << 16;
  constexpr double kBalance = 0.1;
  auto& experts = config.experts;
  experts.count =
      olmo_size(keys, "model.moe_num_experts", kExperts, "model.experts.count", kMostExperts);
  experts.active = olmo_size(keys, "model.moe_top_k", kTopK, "model.experts.active", kMostExperts);
  experts.balance =
      keys.number("model.moe_loss_weight", "model.experts.balance").value_or(kBalance);
  experts.router_z = keys.number("model.moe_zloss_weight", "model.experts.router_z").value_or(0);
  experts.shared = keys.flag("model.moe_shared_expert", "model.experts.shared").value_or(false);
  require_olmo_flag(keys, "model.moe_dropless", true, true, "no expert has a capacity limit");
  const auto norm = keys.integer("model.moe_normalize_expert_weights", "model.experts.renormalize");
  experts.renormalize = norm.has_value();
  if (norm && *norm != 1) keys.refuse("model.moe_normalize_expert_weights", "null or 1", "");
  keys.note("model.block_type", KeyUse::taken, "model.experts.count");
}

/// Kind, epsilon and parameters of the norms.
void take_norm_kind(OlmoKeys& keys, OlmoNorms& norms) {
  constexpr double kOlmoEpsilon = 1e-5;
  const auto type = keys.word("model.layer_norm_type", "scheme").value_or("default");
  if (type != "rms" && type != "default" && type != "low_precision" && type != "amd_compatible") {
    keys.refuse("model.layer_norm_type", "\"rms\" or \"default\"", "");
  }
  norms.kind = type == "rms" ? "rms_norm" : "layer_norm";
  norms.epsilon = keys.number("model.layer_norm_eps", "scheme").value_or(kOlmoEpsilon);
  norms.has_gain = keys.flag("model.layer_norm_with_affine", "scheme").value_or(true);
  norms.has_inner_gain =
      keys.flag("model.attention_layer_norm_with_affine", "scheme").value_or(true);
  norms.has_bias = keys.flag("model.bias_for_layer_norm", "scheme").value_or(false);
  if (norms.has_bias && norms.kind == "rms_norm") {
    keys.refuse("model.bias_for_layer_norm", "false", "rms_norm has no bias");
  }
}

constexpr std::array kHeadNorms = {"model.use_query_norm", "model.use_key_norm",
                                   "model.use_value_norm", "model.use_context_norm"};

/// Norms inside attention. The authors' mixture sets attention_layer_norm together with norms per
/// head, which their own code refuses.
void take_attention_norms(OlmoKeys& keys, OlmoNorms& norms) {
  const std::array<bool*, 4> targets = {&norms.query, &norms.key, &norms.value, &norms.context};
  bool has_head_norm = false;
  for (std::size_t i = 0; i < kHeadNorms.size(); ++i) {
    *targets[i] = keys.flag(kHeadNorms[i], "scheme").value_or(false);
    has_head_norm = has_head_norm || *targets[i];
  }
  norms.full_qk = keys.flag("model.attention_layer_norm", "scheme").value_or(false);
  if (!norms.full_qk || !has_head_norm) return;
  norms.full_qk = false;
  keys.note(
      "model.attention_layer_norm", KeyUse::differs,
      "taken as false: norms per head are there, and the authors' code refuses both together");
}

OlmoNorms take_norms(OlmoKeys& keys, std::int64_t layers) {
  OlmoNorms norms;
  take_norm_kind(keys, norms);
  take_attention_norms(keys, norms);
  LayerSwitches all;
  all.attn_norm = keys.flag("model.attn_norm", "scheme").value_or(true);
  all.attn_residual = keys.flag("model.attn_residual_after_norm", "scheme").value_or(false);
  all.ffn_norm = keys.flag("model.ffn_norm", "scheme").value_or(true);
  all.ffn_residual = keys.flag("model.ffn_residual_after_norm", "scheme").value_or(false);
  norms.embedding = keys.flag("model.embedding_layer_norm", "scheme").value_or(false);
  norms.after = keys.flag("model.norm_after", "scheme").value_or(false);
  constexpr const char* kSpecial = "model.norm_pos_special_config";
  const auto special = keys.word(kSpecial, "scheme").value_or("");
  norms.layers = switches_of_layers(all, parse_layer_switches(special, keys.place(kSpecial)),
                                    layers, keys.place(kSpecial));
  const bool has_switches = std::any_of(norms.layers.begin(), norms.layers.end(),
                                        [](const auto& each) { return each != LayerSwitches(); });
  if (norms.after && has_switches) {
    keys.refuse("model.norm_after", "false", "the other switches of norms place the norms");
  }
  return norms;
}

OlmoInit take_init(OlmoKeys& keys) {
  constexpr double kOlmoDeviation = 0.02, kMegatronCutoff = 3;
  OlmoInit init;
  init.function = keys.word("model.init_fn", "model.init").value_or("normal");
  if (init.function != "normal" && init.function != "full_megatron" &&
      init.function != "mitchell") {
    keys.refuse("model.init_fn", "\"normal\", \"full_megatron\" or \"mitchell\"", "");
  }
  const auto positive = [&](const char* key, const char* as) {
    const auto value = keys.number(key, as);
    if (value && *value <= 0) keys.refuse(key, "> 0", "");
    return value;
  };
  init.deviation = positive("model.init_std", "model.init").value_or(kOlmoDeviation);
  init.cutoff = positive("model.init_cutoff_factor", "model.init");
  if (init.function != "normal" && !init.cutoff) init.cutoff = kMegatronCutoff;
  init.embedding_deviation = positive("model.emb_init_std", "scheme");
  init.scales_embedding = keys.flag("model.scale_emb_init", "scheme").value_or(false);
  if (init.function != "full_megatron" || init.embedding_deviation) {
    keys.note("model.scale_emb_init", KeyUse::no_effect,
              "OLMo reads it only with init_fn full_megatron and without emb_init_std");
  }
  if (init.function == "mitchell") {
    keys.note("model.init_std", KeyUse::no_effect, "init_fn mitchell computes its deviations");
  }
  return init;
}

}  // namespace

void take_olmo_model(OlmoKeys& keys, config::Config& config) {
  take_olmo_sizes(keys, config);
  take_rotary_and_attention(keys, config);
  take_olmo_experts(keys, config);
  const auto norms = take_norms(keys, config.model.layers);
  const auto init = take_init(keys);
  const auto scheme = olmo_scheme(norms, init, config::shape_of(config, config.model.vocabulary),
                                  config.model.tied);
  config.scheme = scheme.source;
  config.model.init = scheme.init;
  if (scheme.has_other_head) {
    keys.note_missing("model.init_fn", "(the untied head)",
                      "starts with standard deviation 1/sqrt(d_model) in OLMo, here with init_std");
  }
}

}  // namespace evenkeel::convert
