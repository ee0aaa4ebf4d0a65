// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/settings.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/describe.h"

namespace evenkeel::norm {

namespace {

constexpr const char* kNothing = "-";

std::string words(const std::optional<Norm>& norm) {
  return norm ? describe(*norm) : kNothing;
}

std::string words(const std::optional<Number>& number) {
  return number ? describe(*number) : kNothing;
}

std::string words(const std::optional<Expression>& formula) {
  return formula ? formula->formula() : kNothing;
}

std::string words(const std::vector<Tap>& taps) {
  std::string sum;
  for (const auto tap : taps) sum += text(sum.empty() ? "" : " + ", name_of(tap));
  return sum;
}

void add_rules(Settings& settings, const std::string& half, const Residual& add) {
  settings.push_back({half + ".skip", words(add.skip)});
  settings.push_back({half + ".skip_scale", describe(add.skip_scale)});
  settings.push_back({half + ".branch_scale", describe(add.branch_scale)});
  settings.push_back({half + ".update", std::string(name_of(add.update))});
  settings.push_back({half + ".angle_decay",
                      add.update == Update::geodesic ? add.angle_decay.formula() : kNothing});
}

void add_dual(Settings& settings, const std::optional<Dual>& dual) {
  const auto add = [&](const char* key, const std::string& value) {
    settings.push_back({text("dual.", key), dual ? value : kNothing});
  };
  const Dual one = dual.value_or(Dual());
  add("read", one.reads_norm_of_y ? "x + norm(y)" : "x");
  add("output", one.norms_both_at_end ? "norm(norm(x) + norm(y))" : "x + norm(y)");
  add("norm", describe(one.norm));
  add("write_y", one.write_y.formula());
  add("y_init", one.y_init.formula());
}

bool names(const std::vector<std::string>& weights, const char* matrix) {
  return std::count(weights.begin(), weights.end(), matrix) > 0;
}

/// Matrix by matrix: rules in another order or grouping are the same.
void add_matrices(Settings& settings, const Scheme& scheme) {
  for (const auto* const matrix : kWeights) {
    std::string rules;
    for (const auto& each : scheme.reparameterize) {
      if (names(each.weights, matrix)) rules = joined(rules, each.rule, ", ");
    }
    settings.push_back({text("reparameterize ", matrix), rules.empty() ? kNothing : rules});
  }
}

std::string words(const Hook& hook) {
  if (hook.kind == "qk_clip") return text("qk_clip at ", Expression(hook.threshold).formula());
  return hook.axis.empty() ? hook.kind : text(hook.kind, " along ", hook.axis);
}

void add_hooks(Settings& settings, const Scheme& scheme) {
  std::string whole;
  for (const auto& hook : scheme.hooks) {
    if (hook.weights.empty()) whole = joined(whole, words(hook), ", ");
  }
  settings.push_back({"hooks", whole.empty() ? kNothing : whole});
  std::vector<const char*> matrices(kWeights.begin(), kWeights.end());
  matrices.insert(matrices.end(), {"embedding", "head"});
  for (const auto* const matrix : matrices) {
    std::string rules;
    for (const auto& hook : scheme.hooks) {
      if (names(hook.weights, matrix)) rules = joined(rules, words(hook), ", ");
    }
    settings.push_back({text("hooks on ", matrix), rules.empty() ? kNothing : rules});
  }
}

void add_start(Settings& settings, const Scheme& scheme) {
  settings.push_back({"base_init", scheme.base_init, true});
  settings.push_back({"embedding_init", scheme.embedding_init, true});
  for (const auto* const matrix : kWeights) {
    std::string factor;
    for (const auto& each : scheme.init) {
      if (names(each.weights, matrix)) factor = joined(factor, each.factor.formula(), " * ");
    }
    settings.push_back({text("init of ", matrix), factor.empty() ? "1" : factor, true});
  }
}

}  // namespace

Settings settings_of(const Block& block) {
  const auto& [attention, feed_forward, damp] = block;
  Settings settings = {{"attention.input", words(attention.input)},
                       {"attention.q", words(attention.q)},
                       {"attention.k", words(attention.k)},
                       {"attention.v", words(attention.v)},
                       {"attention.score_scale", words(attention.score_scale)},
                       {"attention.softcap", words(attention.softcap)},
                       {"attention.context", words(attention.context)},
                       {"attention.output", words(attention.output)}};
  add_rules(settings, "attention", attention.add);
  settings.push_back({"attention.residual", words(attention.residual)});
  settings.push_back(
      {"feed_forward.input", feed_forward.shares_input ? "shared" : words(feed_forward.input)});
  settings.push_back({"feed_forward.up_gate_scale", words(feed_forward.up_gate_scale)});
  settings.push_back({"feed_forward.hidden", words(feed_forward.hidden)});
  settings.push_back({"feed_forward.output", words(feed_forward.output)});
  add_rules(settings, "feed_forward", feed_forward.add);
  settings.push_back({"feed_forward.residual", words(feed_forward.residual)});
  settings.push_back({"damp", words(damp)});
  return settings;
}

Settings settings_before(const Scheme& scheme) {
  Settings settings = {{"layout", scheme.parallel ? "parallel" : "sequential"},
                       {"embedding.norm", words(scheme.embedding_norm)},
                       {"embedding.scale", describe(scheme.embedding_scale)}};
  add_dual(settings, scheme.dual);
  return settings;
}

Settings settings_behind(const Scheme& scheme) {
  const auto* const head = !scheme.tied ? kNothing : *scheme.tied ? "tied" : "untied";
  Settings settings = {{"final", words(scheme.final)},
                       {"logits.scale", describe(scheme.logits_scale)},
                       {"logits.softcap", words(scheme.logits_softcap)},
                       {"head", head}};
  add_matrices(settings, scheme);
  add_hooks(settings, scheme);
  add_start(settings, scheme);
  return settings;
}

}  // namespace evenkeel::norm
