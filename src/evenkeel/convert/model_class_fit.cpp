// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/convert/model_class.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::convert {

namespace {

using norm::Expression;
using norm::Norm;
using norm::Number;
using norm::Variables;

/// Compares part by part, and keeps the first difference.
class ClassComparison {
 public:
  ClassComparison(const norm::Scheme& scheme, const ModelClass& model_class,
                  const norm::Steps& steps)
      : scheme_(scheme), class_(model_class), steps_(steps) {}

  ClassFit fit() && {
    compare_layout();
    compare_experts();
    compare_norms();
    for (std::size_t i = 0; i < scheme_.blocks.size(); ++i) compare_block(i);
    compare_ends();
    return std::move(fit_);
  }

 private:
  template <typename... Parts>
  void differ(const Parts&... parts) {
    if (fit_.difference.empty()) fit_.difference = text(parts...);
  }

  /// Differs unless the number is fixed and has this value.
  void expect(const Number& number, double wanted, const Variables& variables,
              const std::string& place) {
    const auto* const fixed = std::get_if<Expression>(&number);
    if (fixed == nullptr)
      return differ(place, " is trained, but ", class_.architecture, " has ", shortest(wanted));
    const double value = fixed->value(variables);
    if (std::fabs(value - wanted) > 1e-12 * std::fabs(wanted)) {
      differ(place, " is ", shortest(value), ", but ", class_.architecture, " has ",
             shortest(wanted));
    }
  }

  void compare_layout() {
    if (scheme_.parallel) differ("both sublayers of a block are parallel, but ", has_not());
    if (scheme_.dual) differ("the scheme has a second residual stream, but ", has_not());
    if (!scheme_.reparameterize.empty()) {
      differ("matrices are reparameterized by ", scheme_.reparameterize.front().rule, ", but ",
             has_not());
    }
  }

  std::string has_not() const { return text(class_.architecture, " has no such part"); }

  void compare_experts() {
    const auto& experts = scheme_.shape.experts;
    if (scheme_.shape.is_mixture() && !class_.has_experts) {
      differ("the model is a mixture of experts, but ", class_.architecture, " is dense");
    }
    if (!scheme_.shape.is_mixture() && class_.has_experts) {
      differ("the model is dense, but ", class_.architecture, " is a mixture of experts");
    }
    if (experts.shared > 0) differ("the model has shared experts, but ", has_not());
    if (experts.has_bias) differ("the router has a bias, but ", has_not());
  }

  void compare_norms() {
    std::map<std::string, std::string> missing;  // slot -> module, of one block
    const auto slots = norm::slots_by_name(scheme_);
    for (const auto& [name, slot] : slots) {
      if (!is_of_class(name)) differ(name, " is there, but ", class_.architecture, " has none");
    }
    for (std::size_t i = 0; i < scheme_.blocks.size(); ++i) {
      for (const auto& each : class_.norms) compare_slot(slots, text("blocks.", i, ".", each.slot));
    }
    compare_slot(slots, "final_norm");
  }

  bool is_of_class(std::string_view name) const {
    if (name == "final_norm") return true;
    return std::any_of(class_.norms.begin(), class_.norms.end(), [&](const ClassNorm& each) {
      return name.starts_with("blocks.") && name.ends_with(text(".", each.slot));
    });
  }

  void compare_slot(const std::map<std::string, norm::Slot>& slots, const std::string& name) {
    const auto found = slots.find(name);
    if (found == slots.end()) {
      return differ(name, " is missing, but ", class_.architecture, " has it");
    }
    const auto& slot = found->second;
    compare_norm(name, *slot.norm, slot.in_attention);
    if (fit_.epsilon == 0) fit_.epsilon = slot.norm->epsilon;
    if (fit_.epsilon != slot.norm->epsilon) {
      differ(name, " has epsilon ", shortest(slot.norm->epsilon), ", and another norm ",
             shortest(fit_.epsilon), ", but ", class_.architecture, " has one for all");
    }
  }

  void compare_norm(const std::string& name, const Norm& own, bool in_attention) {
    if (own.kind != class_.kind) {
      return differ(name, " is ", norm::row_of(own.kind).name, ", but that of ",
                    class_.architecture, " is ", norm::row_of(class_.kind).name);
    }
    const auto scope = in_attention ? class_.qk_scope : norm::Scope::token;
    if (own.scope != scope) {
      differ(name, own.scope == norm::Scope::head ? " is per head" : " is over all heads",
             ", but that of ", class_.architecture, " is not");
    }
    const bool is_rms = class_.kind == norm::Kind::rms_norm;
    const bool has_bias = own.affine == norm::Affine::vector_bias;
    if (own.affine == norm::Affine::scalar || (is_rms && has_bias)) {
      differ(name, has_bias ? " has a bias" : " has a gain of one value", ", but ", has_not());
    }
    if (!own.heads_share && own.scope == norm::Scope::head) {
      differ(name, " has gains of its own for each head, but ", has_not());
    }
    if (own.epsilon_at != norm::EpsilonAt::inside) {
      differ(name, " has its epsilon outside of the root, but that of ", class_.architecture,
             " is inside");
    }
    if (own.pre_scale != norm::PreScale::none || own.partial != 1) {
      differ(name, " is ", norm::describe(own), ", but ", has_not());
    }
    if (in_attention && own.rope != norm::Rope::after) {
      differ(name, " follows the rotary embedding, but that of ", class_.architecture,
             " precedes it");
    }
  }

  void compare_add(const std::string& place, const norm::Residual& add,
                   const Variables& variables) {
    const norm::Residual plain;
    if (add.skip != plain.skip)
      differ(place, " adds other inputs than the stream, but ", has_not());
    if (add.update != plain.update)
      differ(place, " updates the stream on a sphere, but ", has_not());
    expect(add.skip_scale, 1, variables, place + ".skip_scale");
    expect(add.branch_scale, 1, variables, place + ".branch_scale");
  }

  void compare_block(std::size_t i) {
    const auto& block = scheme_.blocks[i];
    const auto l = static_cast<std::int64_t>(i) + 1;
    const auto variables = scheme_.shape.variables_of_block(l, steps_);
    const auto place = text("blocks.", i);
    compare_add(place + ".attention", block.attention.add, variables);
    compare_add(place + ".feed_forward", block.feed_forward.add, variables);
    if (block.damp) differ(place, ".damp is there, but ", has_not());
    if (block.feed_forward.shares_input) {
      differ(place, ".feed_forward reads attention's input, but ", has_not());
    }
    if (block.feed_forward.up_gate_scale) {
      expect(*block.feed_forward.up_gate_scale, 1, variables, place + ".up_gate_scale");
    }
    compare_scores(place, block.attention, variables, i == 0);
  }

  /// Score scale and soft cap, which a class has once for all blocks.
  void compare_scores(const std::string& place, const norm::Attention& attention,
                      const Variables& variables, bool is_first) {
    std::optional<double> softcap, scale;
    if (attention.softcap) softcap = attention.softcap->value(variables);
    const double usual = 1 / std::sqrt(static_cast<double>(scheme_.shape.head_width()));
    if (attention.score_scale && class_.is_gemma &&
        std::holds_alternative<Expression>(*attention.score_scale)) {
      scale = std::get<Expression>(*attention.score_scale).value(variables);
      if (std::fabs(*scale - usual) <= 1e-12 * usual) scale.reset();
    } else if (attention.score_scale) {
      expect(*attention.score_scale, usual, variables, place + ".attention.score_scale");
    }
    if (softcap && !class_.has_softcaps) {
      differ(place, ".attention has soft-capped scores, but ", has_not());
    }
    if (is_first) {
      fit_.score_softcap = softcap;
      fit_.score_scale = scale;
    }
    if (softcap != fit_.score_softcap || scale != fit_.score_scale) {
      differ(place, ".attention has another cap or scale of scores than block 0, but ",
             class_.architecture, " has one for all");
    }
  }

  void compare_ends() {
    const auto variables = scheme_.shape.variables(steps_);
    const double root = std::sqrt(static_cast<double>(scheme_.shape.width));
    expect(scheme_.embedding_scale, class_.is_gemma ? root : 1, variables, "embedding.scale");
    expect(scheme_.logits_scale, 1, variables, "logits.scale");
    if (!scheme_.logits_softcap) return;
    if (!class_.has_softcaps) differ("logits are soft-capped, but ", has_not());
    fit_.logits_softcap = scheme_.logits_softcap->value(variables);
  }

  const norm::Scheme& scheme_;
  const ModelClass& class_;
  norm::Steps steps_;
  ClassFit fit_;
};

}  // namespace

ClassFit compare(const norm::Scheme& scheme, const ModelClass& model_class,
                 const norm::Steps& steps) {
  return ClassComparison(scheme, model_class, steps).fit();
}

}  // namespace evenkeel::convert
