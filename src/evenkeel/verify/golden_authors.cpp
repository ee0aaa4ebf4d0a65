// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/golden_authors.h"

#include <toml++/toml.h>

#include <array>
#include <map>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/optim/adamw.h"
#include "evenkeel/verify/golden_shape.h"

namespace evenkeel::verify {

namespace {

constexpr const char* kNorm = "norm";

/// The TOML table of one sublayer. \param name  "attn" or "ffn"
toml::table sublayer_table(const GoldenJson& layer, const std::string& name) {
  toml::table sublayer;
  if (!layer.flag(name + "_norm")) return sublayer;
  sublayer.insert("input", kNorm);
  if (layer.flag(name + "_residual_after_norm")) sublayer.insert("skip", "normed");
  return sublayer;
}

/// The scheme as a TOML text.
toml::table scheme_table(const GoldenJson& config) {
  toml::table scheme;
  scheme.insert("norm", toml::table{{"kind", "rms_norm"}, {"epsilon", config.number("norm_eps")}});
  scheme.insert("final", kNorm);
  const bool of_mixture = config.has("n_experts");
  const auto flags = config.at(of_mixture ? "official_flags" : "per_head_norms");
  const bool has_embedding_norm =
      of_mixture ? flags.flag("embedding_layer_norm") : config.flag("embedding_norm");
  if (has_embedding_norm) scheme.insert("embedding", toml::table{{"norm", kNorm}});

  constexpr std::array<std::pair<const char*, const char*>, 4> kSlots = {
      {{"q", "use_query_norm"},
       {"k", "use_key_norm"},
       {"v", "use_value_norm"},
       {"context", "use_context_norm"}}};
  toml::table attention;
  for (const auto& [slot, flag] : kSlots) {
    if (flags.flag(of_mixture ? flag : slot)) attention.insert(slot, "norm per head");
  }
  scheme.insert("attention", attention);

  toml::array layers;
  for (const auto& layer : config.list("layers")) {
    const auto number = static_cast<std::int64_t>(layers.size()) + 1;
    layers.push_back(toml::table{{"where", toml::array{number}},
                                 {"attention", sublayer_table(layer, "attn")},
                                 {"feed_forward", sublayer_table(layer, "ffn")}});
  }
  scheme.insert("layers", layers);
  return scheme;
}

/// Trained parameters by name.
using Roles = std::map<std::string, nn::ParameterRole>;

Roles roles_of(const GoldenModel& model) {
  Roles roles;
  const auto& scheme = model.scheme;
  for (const auto& spec : nn::parameter_specs(scheme, scheme.shape.vocabulary, model.tied)) {
    if (spec.role != nn::ParameterRole::state) roles[spec.name] = spec.role;
  }
  return roles;
}

/// Checks that an object has one key for each parameter, since a value without a parameter would be
/// compared with nothing.
/// \param key  path of the object
void check_parameter_keys(const GoldenJson& json, const std::string& key, const GoldenJson& object,
                          const Roles& roles) {
  for (const auto& [name, role] : roles) {
    if (object.has(name)) continue;
    json.refuse(text("wants \"", key, ".", name, "\", a parameter of the model, but has none"));
  }
  for (const auto& name : object.keys()) {
    if (roles.contains(name)) continue;
    json.refuse(text("\"", key, ".", name, "\" must name a parameter of the model, but does not"));
  }
}

/// Checks that AdamW with these options applies the weight decay of each parameter.
void check_weight_decays(const GoldenJson& json, const config::Optimizer& options,
                         const GoldenJson& decays, const Roles& roles) {
  const std::string key = "optimizer.weight_decay_by_parameter";
  check_parameter_keys(json, key, decays, roles);
  for (const auto& [name, role] : roles) {
    const double applied = optim::weight_decay_of(options, role), found = decays.number(name);
    if (found == applied) continue;
    json.refuse(text("\"", key, ".", name, "\" must be ", shortest(applied),
                     ", the decay of this kind of parameter, but is ", shortest(found)));
  }
}

}  // namespace

GoldenModel authors_model(const GoldenJson& json) {
  const auto config = json.at("config");
  const bool of_mixture = config.has("n_experts");
  auto shape = read_shape(config, {.layers = "n_layers",
                                   .width = "d_model",
                                   .heads = "n_heads",
                                   .kv_heads = "n_kv_heads",
                                   .inner = of_mixture ? "expert_inner" : "ffn_inner",
                                   .vocabulary = "vocab_size",
                                   .context = "context"});
  if (of_mixture) {
    shape.experts = {.count = config.integer("n_experts"),
                     .active = config.integer("top_k"),
                     .renormalize = config.flag("renormalise_top_k")};
    const auto& experts = shape.experts;
    if (experts.active < 1 || experts.active > experts.count) {
      json.refuse(text("\"top_k\" must be 1 to \"n_experts\", ", experts.count, ", but is ",
                       experts.active));
    }
  }
  if (const auto layers = config.list("layers").size();
      static_cast<std::int64_t>(layers) != shape.layers) {
    json.refuse(text("wants ", shape.layers, " \"config.layers\", but has ", layers));
  }
  return {.scheme = config::bind(
              config::make_source(config.string("variant"), scheme_table(config)), shape),
          .tied = config.flag("weight_tying"),
          .rope_theta = config.number("rope_theta")};
}

GoldenTrajectory authors_trajectory(const GoldenJson& json, const GoldenModel& model) {
  GoldenTrajectory trajectory;
  const auto optimizer = json.at("optimizer");
  auto& options = trajectory.optimizer;
  const auto betas = optimizer.numbers("betas");
  if (betas.size() != 2) json.refuse(text("wants two \"optimizer.betas\", but has ", betas.size()));
  options.beta1 = betas[0];
  options.beta2 = betas[1];
  options.epsilon = optimizer.number("eps");
  options.weight_decay = optimizer.number("weight_decay");
  options.clip = optimizer.number("max_grad_norm");
  const auto decays = optimizer.at("weight_decay_by_parameter");
  options.decay_gains = decays.number("final_norm.gain") > 0;
  options.decay_embedding = decays.number("embedding.weight") > 0;
  check_weight_decays(json, options, decays, roles_of(model));

  const auto schedule = json.at("schedule");
  trajectory.schedule = {.kind = "cosine",
                         .peak = schedule.number("peak_lr"),
                         .floor = schedule.number("alpha_f"),
                         .warmup = {schedule.number("warmup_steps"), config::Length::Unit::steps}};
  for (const auto& step : json.list("steps")) {
    trajectory.steps.push_back({.rate = step.number("lr"),
                                .loss = step.number("loss"),
                                .gradient_norm = step.number("grad_norm")});
  }
  trajectory.last_loss = json.number("loss_on_last_batch_after_training");
  return trajectory;
}

GoldenPass authors_pass(const GoldenJson& json, const GoldenModel& model) {
  GoldenPass pass;
  pass.loss = json.number("loss");
  pass.gradient_norm = json.number("grad_norm_total");
  pass.logits_sum_of_squares = json.number("logits_sum_of_squares");
  const auto parameters = json.at("parameters");
  check_parameter_keys(json, "parameters", parameters, roles_of(model));
  for (const auto& name : parameters.keys()) {
    pass.gradient_norms[name] = parameters.at(name).number("grad_l2_norm");
  }
  const auto config = json.at("config");
  if (!config.has("n_experts")) return pass;
  pass.mixture = {.balance = config.number("load_balance_weight"),
                  .router_z = config.number("router_z_weight"),
                  .cross_entropy = json.number("ce_loss"),
                  .balance_loss = json.number("load_balance_loss"),
                  .router_z_loss = json.number("router_z_loss")};
  return pass;
}

}  // namespace evenkeel::verify
