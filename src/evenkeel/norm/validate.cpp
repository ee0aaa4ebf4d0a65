// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/validate.h"

#include <algorithm>

#include "evenkeel/base/nearest.h"
#include "evenkeel/norm/check_values.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/norm/scheme_error.h"
#include "evenkeel/norm/slots.h"
#include "evenkeel/norm/warnings.h"

namespace evenkeel::norm {

namespace {

/// One sublayer of one block, as the checks use it.
struct SublayerView {
  std::string name;
  const Residual& add;
  bool has_input;
  bool has_residual;
};

/// Refuses settings of a norm that have no effect.
void check_effects(const Slot& slot, const std::string& where) {
  const auto& norm = *slot.norm;
  const auto defaults = default_norm(norm.kind);
  const auto refuse = [&](const char* setting, const char* reason) {
    throw SchemeError("bad_value", where,
                      text(setting, " has no effect here: ", reason,
                           "; leave it out, or state `kind` to start from the kind's defaults"));
  };
  const bool rotated = slot.place == "attention.q" || slot.place == "attention.k";
  if (norm.rope == Rope::before && !rotated) {
    refuse("rope = \"before\"", "only q and k are rotated");
  }
  if (!norm.heads_share && norm.scope != Scope::head) {
    refuse("heads_share = false", "the scope is not \"head\"");
  }
  if (norm.affine != Affine::none) return;
  const auto* const no_gain = "affine = \"none\" has no gain";
  if (norm.gain_init != defaults.gain_init) refuse("gain_init", no_gain);
  if (norm.gain_form != defaults.gain_form) refuse("gain_form", no_gain);
  if (norm.stored_at) refuse("stored_at", no_gain);
}

void validate_check_slot(const Scheme& scheme, const Slot& slot) {
  const auto& norm = *slot.norm;
  const auto where = place_in(scheme, slot.block, slot.place);
  if (norm.scope == Scope::head && !slot.in_attention) {
    throw SchemeError("head_scope_outside_attention", where,
                      "only q, k, v and context have heads; leave \"per head\" out here");
  }
  check_effects(slot, where);
  if (mixes_tokens(norm.kind) && !norm.allow_leakage) {
    throw SchemeError(
        "leaky_statistics", where,
        text("a ", name_of(norm.kind),
             " makes a token depend on other tokens, also later ones; if that is intended, "
             "write { kind = \"",
             name_of(norm.kind), "\", allow_leakage = true }"));
  }
}

void check_sublayer(const Scheme& scheme, std::int64_t l, const SublayerView& sublayer) {
  const auto& taps = sublayer.add.skip;
  if (taps.empty()) {
    throw SchemeError("bad_skip", place_in(scheme, l, sublayer.name + ".skip"),
                      "wanted at least one tap, but found none");
  }
  if (std::count(taps.begin(), taps.end(), Tap::normed) > 0 && !sublayer.has_input) {
    throw SchemeError("normed_without_input", place_in(scheme, l, sublayer.name + ".skip"),
                      text("\"normed\" is what the input norm gives, but ", sublayer.name,
                           ".input is empty here; fill it, or take \"stream\""));
  }
  if (sublayer.add.update != Update::add && sublayer.has_residual) {
    throw SchemeError(
        "update_with_residual_norm", place_in(scheme, l, sublayer.name + ".residual"),
        text("the update \"", name_of(sublayer.add.update),
             "\" keeps the L2 norm of the residual stream; leave the residual norm out"));
  }
}

/// True if the kind divides by the L2 norm and has no gain by default: its rows have L2 norm 1.
bool gives_unit_rows(Kind kind) {
  const auto& row = row_of(kind);
  return row.operation == Operation::divide_by_l2_norm && row.defaults.affine == Affine::none;
}

void check_scores(const Scheme& scheme, std::int64_t l, const Attention& attention) {
  const auto has_unit_rows = [](const std::optional<Norm>& norm) {
    return norm && gives_unit_rows(norm->kind);
  };
  const Number default_scale = Expression::parse("1/sqrt(dk)");
  if (!has_unit_rows(attention.q) && !has_unit_rows(attention.k)) return;
  if (attention.score_scale && *attention.score_scale != default_scale) return;
  throw SchemeError("l2_without_score_scale", place_in(scheme, l, "attention"),
                    "rows of q or k of length one, times the usual 1/sqrt(dk), give a softmax that "
                    "is all but flat; state a score_scale");
}

/// The name of a rule that has no effect in a parallel block; nullptr if there is none.
const char* rule_in_parallel(const Scheme& scheme, const Block& block) {
  const Residual plain;
  const auto& [attention, feed_forward, damp] = block;
  if (scheme.dual) return "dual";
  if (feed_forward.residual) return "feed_forward.residual";
  if (feed_forward.add.skip != plain.skip) return "feed_forward.skip";
  if (feed_forward.add.skip_scale != plain.skip_scale) return "feed_forward.skip_scale";
  if (feed_forward.add.update != plain.update) return "feed_forward.update";
  if (attention.add.update != plain.update) return "attention.update";
  return nullptr;
}

void check_layout(const Scheme& scheme, std::int64_t l, const Block& block) {
  if (!scheme.parallel && block.feed_forward.shares_input) {
    throw SchemeError("shared_outside_parallel", place_in(scheme, l, "feed_forward.input"),
                      "\"shared\" reads what attention reads, which needs layout = \"parallel\"");
  }
  if (!scheme.parallel) return;
  if (const auto* const rule = rule_in_parallel(scheme, block)) {
    throw SchemeError("rule_in_parallel", place_in(scheme, l, rule),
                      "parallel sublayers are added once, plainly and by the rules of attention; "
                      "leave it out");
  }
}

void validate_check_block(const Scheme& scheme, std::int64_t l, const Block& block) {
  const auto& [attention, feed_forward, damp] = block;
  check_sublayer(
      scheme, l,
      {"attention", attention.add, attention.input.has_value(), attention.residual.has_value()});
  check_sublayer(scheme, l,
                 {"feed_forward", feed_forward.add,
                  feed_forward.input.has_value() || feed_forward.shares_input,
                  feed_forward.residual.has_value()});
  check_scores(scheme, l, attention);
  check_layout(scheme, l, block);
}

/// The only known name that begins with this one ("attention.o"); else the name itself.
std::string completed(const std::string& name, const std::vector<std::string>& known) {
  const auto begins = [&](const std::string& each) { return each.starts_with(name); };
  if (std::count_if(known.begin(), known.end(), begins) != 1) return name;
  return *std::find_if(known.begin(), known.end(), begins);
}

void check_weights(const Scheme& scheme) {
  const auto check = [&](const char* place, const std::vector<std::string>& names,
                         const std::vector<std::string>& known) {
    for (const auto& name : names) {
      if (std::count(known.begin(), known.end(), name) > 0) continue;
      throw SchemeError(
          "unknown_weights", place_in(scheme, 0, place),
          text("there is no matrix \"", name, "\"", did_you_mean(completed(name, known), known)));
    }
  };
  std::vector<std::string> known(kBlockMatrices.begin(), kBlockMatrices.end());
  for (const auto& rule : scheme.init) check("init", rule.weights, known);
  std::vector<std::string> taken;
  for (const auto& rule : scheme.reparameterize) {
    check("reparameterize", rule.weights, known);
    for (const auto& name : rule.weights) {
      if (std::count(taken.begin(), taken.end(), name) > 0) {
        throw SchemeError("bad_value", place_in(scheme, 0, "reparameterize"),
                          text(name, " is named twice; one rule computes a matrix"));
      }
      taken.push_back(name);
    }
  }
  known.insert(known.end(), {"embedding", "head"});
  for (const auto& hook : scheme.hooks) check("hooks", hook.weights, known);
}

/// Checks that the hook "profile" can overwrite the parameter of every skip_scale.
void check_profile(const Scheme& scheme) {
  const bool profiles = std::any_of(scheme.hooks.begin(), scheme.hooks.end(),
                                    [](const Hook& hook) { return hook.kind == "profile"; });
  if (!profiles) return;
  const auto refuse = [&](std::int64_t l, const std::string& place, const char* reason) {
    throw SchemeError("bad_value", place_in(scheme, l, place),
                      text("the hook \"profile\" ", reason, "; leave the hook out"));
  };
  if (scheme.parallel) refuse(0, "hooks", "measures sublayers one after the other");
  std::int64_t l = 0;
  for (const auto& block : scheme.blocks) {
    ++l;
    for (const auto& [sublayer, add] : {std::pair("attention", &block.attention.add),
                                        std::pair("feed_forward", &block.feed_forward.add)}) {
      const auto* const learned = std::get_if<Learned>(&add->skip_scale);
      const bool plain = learned != nullptr && !learned->stored_at &&
                         learned->transform == Learned::Transform::identity;
      if (plain && add->skip == std::vector{Tap::stream}) continue;
      refuse(l, std::string(sublayer) + ".skip_scale",
             "fills a learned number that weighs the stream alone, without through or stored_at");
    }
  }
}

/// Refuses rules that have no effect in a mixture of experts.
void check_mixture(const Scheme& scheme) {
  if (!scheme.shape.is_mixture()) return;
  constexpr const char* kNone = "has no meaning in a mixture of experts (model.experts.count)";
  std::int64_t l = 0;
  for (const auto& block : scheme.blocks) {
    ++l;
    const auto& feed_forward = block.feed_forward;
    if (feed_forward.up_gate_scale) {
      throw SchemeError("bad_value", place_in(scheme, l, "feed_forward.up_gate_scale"),
                        text("\"up_gate_scale\" ", kNone, "; leave it out, or take a dense model"));
    }
    if (feed_forward.hidden && mixes_tokens(feed_forward.hidden->kind)) {
      throw SchemeError(
          "bad_value", place_in(scheme, l, "feed_forward.hidden"),
          text("a ", name_of(feed_forward.hidden->kind), " inside the experts ", kNone,
               ": an expert sees no whole sequence; leave it out, or take a dense "
               "model"));
    }
  }
  for (const auto& hook : scheme.hooks) {
    if (hook.kind != "unit_norm") continue;
    for (const auto& name : hook.weights) {
      if (!name.starts_with("feed_forward.")) continue;
      throw SchemeError(
          "bad_value", place_in(scheme, 0, "hooks"),
          text("\"unit_norm\" of ", name, " ", kNone, "; leave it out, or take a dense model"));
    }
  }
}

void check_count(const Scheme& scheme) {
  if (!scheme.norm_parameters) return;
  const double stated = scheme.norm_parameters->value(scheme.shape.variables());
  const auto built = norm_parameter_count(scheme);
  if (stated == static_cast<double>(built)) return;
  throw SchemeError(
      "norm_parameters", place_in(scheme, 0, "norm_parameters"),
      text("the norms have ", built, " parameters, but \"", scheme.norm_parameters->formula(),
           "\" gives ", Expression(stated).formula(),
           "; a scheme that changes its parent's count states its own formula"));
}

}  // namespace

std::vector<Warning> validate(const Scheme& scheme) {
  std::int64_t l = 0;
  for (const auto& slot : slots_of(scheme)) validate_check_slot(scheme, slot);
  for (const auto& block : scheme.blocks) validate_check_block(scheme, ++l, block);
  check_values(scheme);
  check_weights(scheme);
  check_profile(scheme);
  check_mixture(scheme);
  check_count(scheme);
  return warnings_of(scheme);
}

std::int64_t norm_parameter_count(const Scheme& scheme) {
  std::int64_t count = 0;
  for (const auto& slot : slots_of(scheme)) {
    count += parameter_count(*slot.norm, slot.width, slot.heads);
  }
  return count;
}

}  // namespace evenkeel::norm
