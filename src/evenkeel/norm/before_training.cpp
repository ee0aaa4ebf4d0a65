// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/computed.h"

namespace evenkeel::norm {

namespace {

void fix(Number& number) {
  if (const auto* const learned = std::get_if<Learned>(&number)) {
    const Expression first = learned->init;
    number = first;
  }
}

void fix(std::optional<Number>& number) {
  if (number) fix(*number);
}

void fix(Residual& add) {
  fix(add.skip_scale);
  fix(add.branch_scale);
}

void fix(Norm& norm) {
  // A formula of the step, or of the steps planned, stays.
  if (!norm.out_scale.names().empty() || !norm.gain_init.names().empty()) return;
  const double gain = norm.affine == Affine::none ? 1 : norm.gain_init.value({});
  norm.out_scale = Expression(rounded(norm.out_scale.value({}) * gain));
  norm.gain_init = Expression(1);
  norm.affine = Affine::none;
  norm.gain_form = GainForm::w;
  norm.heads_share = true;
  norm.stored_at.reset();
}

void fix(std::optional<Norm>& norm) {
  if (norm) fix(*norm);
}

}  // namespace

Scheme before_training(Scheme scheme) {
  fix(scheme.embedding_norm);
  fix(scheme.embedding_scale);
  for (auto& [attention, feed_forward, damp] : scheme.blocks) {
    for (auto* const norm :
         {&attention.input, &attention.q, &attention.k, &attention.v, &attention.context,
          &attention.output, &attention.residual, &feed_forward.input, &feed_forward.hidden,
          &feed_forward.output, &feed_forward.residual}) {
      fix(*norm);
    }
    fix(damp);
    fix(attention.add);
    fix(attention.score_scale);
    fix(feed_forward.add);
    fix(feed_forward.up_gate_scale);
  }
  fix(scheme.final);
  fix(scheme.logits_scale);
  if (scheme.dual) fix(scheme.dual->norm);
  return scheme;
}

}  // namespace evenkeel::norm
