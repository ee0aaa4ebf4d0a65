// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/slots.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::norm {

namespace {

bool runs(Kind kind) {
  return kind == Kind::rms_norm || kind == Kind::layer_norm || kind == Kind::l2 ||
         kind == Kind::scale_norm || kind == Kind::scale;
}

bool is_learned(const std::optional<Number>& number) {
  return number && std::holds_alternative<Learned>(*number);
}

bool has_learned(const Block& block) {
  const auto& [attention, feed_forward, damp] = block;
  return is_learned(attention.add.skip_scale) || is_learned(attention.add.branch_scale) ||
         is_learned(feed_forward.add.skip_scale) || is_learned(feed_forward.add.branch_scale) ||
         is_learned(attention.score_scale) || is_learned(feed_forward.up_gate_scale);
}

bool is_missing(const std::vector<std::string>& list, const std::string& word) {
  return std::count(list.begin(), list.end(), word) == 0;
}

/// Each reason once, in the order of its first occurrence.
class Reasons {
 public:
  void add(bool applies, const std::string& reason) {
    if (applies && is_missing(reasons_, reason)) reasons_.push_back(reason);
  }
  std::vector<std::string> list() && { return std::move(reasons_); }

 private:
  std::vector<std::string> reasons_;
};

}  // namespace

std::vector<std::string> not_run_yet(const Scheme& scheme) {
  Reasons reasons;
  reasons.add(scheme.parallel, "layout \"parallel\"");
  reasons.add(scheme.dual.has_value(), "a second stream (dual)");
  for (const auto& slot : slots_of(scheme)) {
    reasons.add(!runs(slot.norm->kind), text("norm kind ", name_of(slot.norm->kind)));
  }
  reasons.add(is_learned(scheme.embedding_scale) || is_learned(scheme.logits_scale),
              "learned values");
  for (const auto& block : scheme.blocks) {
    reasons.add(has_learned(block), "learned values");
    for (const auto* const add : {&block.attention.add, &block.feed_forward.add}) {
      reasons.add(add->update != Update::add, text("update \"", name_of(add->update), "\""));
    }
    reasons.add(block.damp.has_value(), "damp");
  }
  for (const auto& hook : scheme.hooks) reasons.add(true, text("hook ", hook.kind));
  for (const auto& rule : scheme.reparameterize) {
    reasons.add(true, text("reparameterize ", rule.rule));
  }
  return std::move(reasons).list();
}

}  // namespace evenkeel::norm
