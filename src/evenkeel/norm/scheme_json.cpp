// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/scheme_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::norm {

namespace {

using Json = nlohmann::ordered_json;

/// The value of an expression, or its formula if it names t or T and `variables` do not have them.
Json value_json(const Expression& expression, const Variables& variables) {
  for (const auto* const step : {"t", "T"}) {
    if (expression.names().contains(step) && !variables.contains(step)) return expression.formula();
  }
  return expression.value(variables);
}

/// init / stored_at: the factor from the stored value to the effective one.
Json factor_json(const Expression& init, const std::optional<Expression>& stored_at,
                 const Variables& variables) {
  if (!stored_at) return 1.0;
  const auto effective = value_json(init, variables), stored = value_json(*stored_at, variables);
  if (effective.is_number() && stored.is_number()) {
    return effective.get<double>() / stored.get<double>();
  }
  return text("(", init.formula(), ") / (", stored_at->formula(), ")");
}

/// A fixed number as a JSON number, a trained one as an object.
/// \param parameter  the last part of the name of its tensor: "skip_scale"
Json number_json(const Number& number, const char* parameter, const Variables& variables) {
  if (const auto* const fixed = std::get_if<Expression>(&number)) {
    return value_json(*fixed, variables);
  }
  const auto& learned = std::get<Learned>(number);
  Json out = {{"parameter", parameter},
              {"size", name_of(learned.size)},
              {"init", value_json(learned.init, variables)},
              {"factor", factor_json(learned.init, learned.stored_at, variables)},
              {"transform", name_of(learned.transform)}};
  if (learned.at_most) out["at_most"] = value_json(*learned.at_most, variables);
  return out;
}

const char* affine_name(Affine affine) {
  switch (affine) {
    case Affine::none:
      return "none";
    case Affine::scalar:
      return "scalar";
    case Affine::vector:
      return "vector";
    case Affine::vector_bias:
      return "vector+bias";
  }
  EK_ASSERT(false && "every affine has a name");
}

/// The fields that only some kinds have, of a norm of such a kind.
void add_fields_of_kind(Json& out, const Norm& norm, const Variables& variables) {
  const std::map<std::string, Json> values = {
      {"epsilon", norm.epsilon},
      {"epsilon_at", name_of(norm.epsilon_at)},
      {"partial", norm.partial},
      {"detach", name_of(norm.detach)},
      {"groups", norm.groups ? value_json(*norm.groups, variables) : Json()},
      {"alpha_init", value_json(norm.alpha_init, variables)},
      {"shift_init", value_json(norm.shift_init, variables)},
      {"beta_init", value_json(norm.beta_init, variables)},
      {"momentum", norm.momentum},
      {"rate_max", value_json(norm.rate_max, variables)},
      {"shift_max", value_json(norm.shift_max, variables)}};
  const auto fields = allowed_fields(norm.kind);
  for (const auto& [name, value] : values) {
    if (std::find(fields.begin(), fields.end(), name) != fields.end()) out[name] = value;
  }
}

/// A norm with all fields that act.
Json norm_json(const Slot& slot, const Variables& variables) {
  const auto& norm = *slot.norm;
  Json out = {{"kind", name_of(norm.kind)},
              {"scope", norm.scope == Scope::head ? "head" : "token"},
              {"affine", affine_name(norm.affine)}};
  if (norm.scope == Scope::head) out["heads_share"] = norm.heads_share;
  if (norm.affine != Affine::none) {
    out["gain_form"] = norm.gain_form == GainForm::w ? "w" : "1+w";
    out["gain_init"] = value_json(norm.gain_init, variables);
    out["gain_factor"] = factor_json(norm.gain_init, norm.stored_at, variables);
  }
  add_fields_of_kind(out, norm, variables);
  out["out_scale"] = value_json(norm.out_scale, variables);
  out["pre_scale"] = norm.pre_scale == PreScale::none ? "none" : "absmax8";
  if (slot.place == "attention.q" || slot.place == "attention.k") {
    out["rope"] = norm.rope == Rope::after ? "after" : "before";
  }
  return out;
}

class SchemeWriter {
 public:
  SchemeWriter(const Scheme& scheme, const std::optional<Steps>& steps)
      : scheme_(scheme), steps_(steps), slots_(slots_by_name(scheme)) {}

  /// Adds the norm of this slot under `key`, if the scheme has it.
  /// \param slot  "blocks.0.attention.input_norm"
  void add_norm(Json& out, const char* key, const std::string& slot) const {
    const auto found = slots_.find(slot);
    if (found == slots_.end()) return;
    out[key] = norm_json(found->second, variables_of(found->second, scheme_.shape, steps_));
  }

  /// What both sublayers have: the norms in the order of the forward pass, and the update.
  /// \param inner  the norms inside the branch: "q", "k", "v", "context" or "hidden"
  /// \param prefix  "blocks.0.attention."
  Json sublayer(const std::string& prefix, std::initializer_list<const char*> inner,
                const Residual& add, const Variables& variables) const {
    Json out = Json::object();
    add_norm(out, "dual", prefix + "dual_norm");
    add_norm(out, "input", prefix + "input_norm");
    for (const auto* const place : inner) add_norm(out, place, text(prefix, place, "_norm"));
    add_norm(out, "output", prefix + "output_norm");
    auto skip = Json::array();
    for (const auto tap : add.skip) skip.push_back(name_of(tap));
    out["skip"] = skip;
    out["skip_scale"] = number_json(add.skip_scale, "skip_scale", variables);
    out["branch_scale"] = number_json(add.branch_scale, "branch_scale", variables);
    out["update"] = name_of(add.update);
    if (add.update == Update::geodesic) out["angle_decay"] = value_json(add.angle_decay, variables);
    add_norm(out, "residual", prefix + "residual_norm");
    if (scheme_.dual) out["write_y"] = value_json(scheme_.dual->write_y, variables);
    return out;
  }

  /// \param i  from 0
  Json block(std::int64_t i) const {
    const auto& [attention, feed_forward, damp] = scheme_.blocks.at(static_cast<std::size_t>(i));
    const auto variables = scheme_.shape.variables_of_block(i + 1, steps_);
    const auto prefix = text("blocks.", i, ".");
    auto a = sublayer(prefix + "attention.", {"q", "k", "v", "context"}, attention.add, variables);
    const Expression usual(1 / std::sqrt(static_cast<double>(scheme_.shape.head_width())));
    a["score_scale"] = number_json(attention.score_scale.value_or(usual), "score_scale", variables);
    if (attention.softcap) a["softcap"] = value_json(*attention.softcap, variables);
    auto f = sublayer(prefix + "feed_forward.", {"hidden"}, feed_forward.add, variables);
    if (scheme_.parallel) f["shares_input"] = feed_forward.shares_input;
    if (feed_forward.up_gate_scale) {
      f["up_gate_scale"] = number_json(*feed_forward.up_gate_scale, "up_gate_scale", variables);
    }
    Json out = {{"attention", std::move(a)}, {"feed_forward", std::move(f)}};
    if (damp) out["damp"] = number_json(*damp, "damp", variables);
    return out;
  }

  /// "blocks": the different blocks; "layers": for each layer, the index of its block.
  void add_blocks(Json& out) const {
    auto blocks = Json::array(), layers = Json::array();
    for (std::int64_t i = 0; i < scheme_.shape.layers; ++i) {
      auto own = block(i);
      auto found = std::find(blocks.begin(), blocks.end(), own);
      layers.push_back(found - blocks.begin());
      if (found == blocks.end()) blocks.push_back(std::move(own));
    }
    out["layers"] = std::move(layers);
    out["blocks"] = std::move(blocks);
  }

  Json scheme() const {
    const auto variables = scheme_.shape.variables(steps_);
    Json out = {{"name", scheme_.info.name}, {"parallel", scheme_.parallel}};
    out["embedding"] = Json::object();
    add_norm(out["embedding"], "norm", "embedding_norm");
    out["embedding"]["scale"] = number_json(scheme_.embedding_scale, "embedding_scale", variables);
    if (scheme_.dual) out["y_init"] = value_json(scheme_.dual->y_init, variables);
    add_blocks(out);
    add_norm(out, "stream_x", "stream_x_norm");
    add_norm(out, "stream_y", "stream_y_norm");
    add_norm(out, "final", "final_norm");
    out["logits"] = {{"scale", number_json(scheme_.logits_scale, "logits_scale", variables)}};
    if (scheme_.logits_softcap) {
      out["logits"]["softcap"] = value_json(*scheme_.logits_softcap, variables);
    }
    auto rules = Json::array();
    for (const auto& [rule, weights] : scheme_.reparameterize) {
      rules.push_back({{"rule", rule}, {"weights", weights}});
    }
    out["reparameterize"] = std::move(rules);
    out["router_bias"] = scheme_.shape.is_mixture() && scheme_.shape.experts.has_bias;
    out["causal"] = causal_in_evaluation(scheme_);
    return out;
  }

 private:
  const Scheme& scheme_;
  std::optional<Steps> steps_;
  std::map<std::string, Slot> slots_;
};

}  // namespace

nlohmann::ordered_json scheme_json(const Scheme& scheme, const std::optional<Steps>& steps) {
  return SchemeWriter(scheme, steps).scheme();
}

}  // namespace evenkeel::norm
