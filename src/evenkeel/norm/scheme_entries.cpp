// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/scheme_entries.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/describe.h"

namespace evenkeel::norm {

namespace {

constexpr const char* kNothing = "-";

std::string value_of(const std::optional<Norm>& norm) {
  return norm ? describe(*norm) : kNothing;
}

std::string value_of(const std::optional<Number>& number) {
  return number ? describe(*number) : kNothing;
}

std::string value_of(const std::optional<Expression>& formula) {
  return formula ? formula->formula() : kNothing;
}

std::string value_of(const std::vector<Tap>& taps) {
  std::string sum;
  for (const auto tap : taps) sum += text(sum.empty() ? "" : " + ", name_of(tap));
  return sum;
}

void add_rules(SchemeEntries& entries, const std::string& sublayer, const Residual& add) {
  entries.push_back({sublayer + ".skip", value_of(add.skip)});
  entries.push_back({sublayer + ".skip_scale", describe(add.skip_scale)});
  entries.push_back({sublayer + ".branch_scale", describe(add.branch_scale)});
  entries.push_back({sublayer + ".update", std::string(name_of(add.update))});
  entries.push_back({sublayer + ".angle_decay",
                     add.update == Update::geodesic ? add.angle_decay.formula() : kNothing});
}

void scheme_entries_add_dual(SchemeEntries& entries, const std::optional<Dual>& dual) {
  const auto add = [&](const char* key, const std::string& value) {
    entries.push_back({text("dual.", key), dual ? value : kNothing});
  };
  const Dual one = dual.value_or(Dual());
  add("read", one.reads_norm_of_y ? "x + norm(y)" : "x");
  add("output", one.norms_both_at_end ? "norm(norm(x) + norm(y))" : "x + norm(y)");
  add("norm", describe(one.norm));
  add("write_y", one.write_y.formula());
  add("y_init", one.y_init.formula());
}

bool scheme_entries_names(const std::vector<std::string>& weights, const char* matrix) {
  return std::count(weights.begin(), weights.end(), matrix) > 0;
}

/// One entry per logical matrix: the order and grouping of the rules do not matter.
void add_matrices(SchemeEntries& entries, const Scheme& scheme) {
  for (const auto* const matrix : kBlockMatrices) {
    std::string rules;
    for (const auto& each : scheme.reparameterize) {
      if (scheme_entries_names(each.weights, matrix)) rules = joined(rules, each.rule, ", ");
    }
    entries.push_back({text("reparameterize ", matrix), rules.empty() ? kNothing : rules});
  }
}

std::string value_of(const Hook& hook) {
  if (hook.kind == "qk_clip") return text("qk_clip at ", Expression(hook.threshold).formula());
  return hook.axis.empty() ? hook.kind : text(hook.kind, " along ", hook.axis);
}

void add_hooks(SchemeEntries& entries, const Scheme& scheme) {
  std::string whole;
  for (const auto& hook : scheme.hooks) {
    if (hook.weights.empty()) whole = joined(whole, value_of(hook), ", ");
  }
  entries.push_back({"hooks", whole.empty() ? kNothing : whole});
  std::vector<const char*> matrices(kBlockMatrices.begin(), kBlockMatrices.end());
  matrices.insert(matrices.end(), {"embedding", "head"});
  for (const auto* const matrix : matrices) {
    std::string rules;
    for (const auto& hook : scheme.hooks) {
      if (scheme_entries_names(hook.weights, matrix)) rules = joined(rules, value_of(hook), ", ");
    }
    entries.push_back({text("hooks on ", matrix), rules.empty() ? kNothing : rules});
  }
}

void add_start(SchemeEntries& entries, const Scheme& scheme) {
  entries.push_back({"base_init", scheme.base_init, true});
  entries.push_back({"embedding_init", scheme.embedding_init, true});
  for (const auto* const matrix : kBlockMatrices) {
    std::string factor;
    for (const auto& each : scheme.init) {
      if (scheme_entries_names(each.weights, matrix))
        factor = joined(factor, each.factor.formula(), " * ");
    }
    entries.push_back({text("init of ", matrix), factor.empty() ? "1" : factor, true});
  }
}

}  // namespace

SchemeEntries block_entries(const Block& block) {
  const auto& [attention, feed_forward, damp] = block;
  SchemeEntries entries = {{"attention.input", value_of(attention.input)},
                           {"attention.q", value_of(attention.q)},
                           {"attention.k", value_of(attention.k)},
                           {"attention.v", value_of(attention.v)},
                           {"attention.score_scale", value_of(attention.score_scale)},
                           {"attention.softcap", value_of(attention.softcap)},
                           {"attention.context", value_of(attention.context)},
                           {"attention.output", value_of(attention.output)}};
  add_rules(entries, "attention", attention.add);
  entries.push_back({"attention.residual", value_of(attention.residual)});
  entries.push_back(
      {"feed_forward.input", feed_forward.shares_input ? "shared" : value_of(feed_forward.input)});
  entries.push_back({"feed_forward.up_gate_scale", value_of(feed_forward.up_gate_scale)});
  entries.push_back({"feed_forward.hidden", value_of(feed_forward.hidden)});
  entries.push_back({"feed_forward.output", value_of(feed_forward.output)});
  add_rules(entries, "feed_forward", feed_forward.add);
  entries.push_back({"feed_forward.residual", value_of(feed_forward.residual)});
  entries.push_back({"damp", value_of(damp)});
  return entries;
}

SchemeEntries entries_before_blocks(const Scheme& scheme) {
  SchemeEntries entries = {{"layout", scheme.parallel ? "parallel" : "sequential"},
                           {"embedding.norm", value_of(scheme.embedding_norm)},
                           {"embedding.scale", describe(scheme.embedding_scale)}};
  scheme_entries_add_dual(entries, scheme.dual);
  return entries;
}

SchemeEntries entries_after_blocks(const Scheme& scheme) {
  const auto* const head = !scheme.tied ? kNothing : *scheme.tied ? "tied" : "untied";
  SchemeEntries entries = {{"final", value_of(scheme.final)},
                           {"logits.scale", describe(scheme.logits_scale)},
                           {"logits.softcap", value_of(scheme.logits_softcap)},
                           {"head", head}};
  add_matrices(entries, scheme);
  add_hooks(entries, scheme);
  add_start(entries, scheme);
  return entries;
}

}  // namespace evenkeel::norm
