// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/canonical_form.h"

namespace evenkeel::norm {

namespace {

void freeze(Number& number) {
  if (const auto* const learned = std::get_if<Learned>(&number)) {
    const Expression first = learned->init;
    number = first;
  }
}

void freeze(std::optional<Number>& number) {
  if (number) freeze(*number);
}

void freeze(Residual& add) {
  freeze(add.skip_scale);
  freeze(add.branch_scale);
}

void freeze(Norm& norm) {
  // An expression of t or T is not folded, nor is a gain to which seed_norm adds an offset.
  if (!norm.out_scale.names().empty() || !norm.gain_init.names().empty()) return;
  if (norm.kind == Kind::seed_norm && norm.beta_init.formula() != "0") return;
  const double gain = norm.affine == Affine::none ? 1 : norm.gain_init.value({});
  norm.out_scale = Expression(rounded(norm.out_scale.value({}) * gain));
  norm.gain_init = Expression(1);
  norm.affine = Affine::none;
  norm.gain_form = GainForm::w;
  norm.heads_share = true;
  norm.stored_at.reset();
}

void freeze(std::optional<Norm>& norm) {
  if (norm) freeze(*norm);
}

}  // namespace

Scheme at_initialization(Scheme scheme) {
  freeze(scheme.embedding_norm);
  freeze(scheme.embedding_scale);
  for (auto& [attention, feed_forward, damp] : scheme.blocks) {
    for (auto* const norm :
         {&attention.input, &attention.q, &attention.k, &attention.v, &attention.context,
          &attention.output, &attention.residual, &feed_forward.input, &feed_forward.hidden,
          &feed_forward.output, &feed_forward.residual}) {
      freeze(*norm);
    }
    freeze(damp);
    freeze(attention.add);
    freeze(attention.score_scale);
    freeze(feed_forward.add);
    freeze(feed_forward.up_gate_scale);
  }
  freeze(scheme.final);
  freeze(scheme.logits_scale);
  if (scheme.dual) freeze(scheme.dual->norm);
  return scheme;
}

}  // namespace evenkeel::norm
