// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/norm_path.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/affine.h"

namespace evenkeel::nn {

using norm::Affine;
using norm::EpsilonAt;
using norm::Kind;
using norm::Scope;

namespace {

at::Tensor layer_formula(const FormulaInputs& in) {
  return ops::reference::layer_rows(in.x, in.epsilon, in.epsilon_at);
}

at::Tensor rms_formula(const FormulaInputs& in) {
  return ops::reference::rms_rows(in.x, in.epsilon, in.epsilon_at, in.partial);
}

at::Tensor unit_formula(const FormulaInputs& in) {
  return ops::reference::unit_rows(in.x, in.epsilon, in.epsilon_at);
}

at::Tensor group_formula(const FormulaInputs& in) {
  return ops::reference::group_rows(in.x, in.groups, in.epsilon, in.epsilon_at);
}

at::Tensor detach_formula(const FormulaInputs& in) {
  return ops::reference::detached_rows(in.x, in.detach != norm::Detach::variance,
                                       in.detach != norm::Detach::mean, in.epsilon, in.epsilon_at);
}

at::Tensor dyt_formula(const FormulaInputs& in) {
  if (!in.fixed_order) return ops::reference::dyt_rows(in.x, *in.alpha);
  return at::tanh(ops::affine(in.x, in.alpha));
}

at::Tensor derf_formula(const FormulaInputs& in) {
  if (!in.fixed_order) return ops::reference::derf_rows(in.x, *in.alpha, *in.shift);
  return at::erf(ops::affine(in.x, in.alpha, in.shift));
}

at::Tensor identity_formula(const FormulaInputs& in) {
  return in.x;
}

at::Tensor instance_formula(const FormulaInputs& in) {
  return ops::reference::instance_rows(in.x.flatten(2), in.epsilon, in.epsilon_at)
      .view(in.x.sizes());
}

at::Tensor batch_formula(const FormulaInputs& in) {
  return ops::reference::batch_rows(in.x, in.epsilon);
}

const std::vector<NormImplementation>& implementations() {
  static const std::vector<NormImplementation> rows = {
      {Kind::layer_norm, {NormPath::layer_norm, NormPath::row_norm}, layer_formula},
      {Kind::rms_norm, {NormPath::rms_norm, NormPath::row_norm}, rms_formula},
      {Kind::l2, {NormPath::row_norm}, unit_formula},
      {Kind::scale_norm, {NormPath::row_norm}, unit_formula},
      {Kind::group_norm, {NormPath::row_norm}, group_formula},
      {Kind::dyt, {NormPath::bounded}, dyt_formula},
      {.kind = Kind::derf,
       .operators = {NormPath::bounded},
       .formula = derf_formula,
       .is_erf = true},
      {.kind = Kind::seed_norm,
       .operators = {NormPath::seed_norm},
       .formula = rms_formula,
       .has_dynamic_gain = true},
      {Kind::scale, {NormPath::affine}, identity_formula},
      {Kind::batch_norm, {NormPath::column_norm}, batch_formula},
      {.kind = Kind::batch_renorm,
       .operators = {NormPath::column_norm},
       .formula = batch_formula,
       .renormalizes = true},
      {Kind::instance_norm, {NormPath::column_norm}, instance_formula},
      {Kind::detach_norm, {}, detach_formula},
  };
  return rows;
}

/// Whether an operator takes the fields of a norm.
bool takes(NormPath path, const norm::Norm& norm, std::int64_t heads) {
  const auto& kind = norm::row_of(norm.kind);
  const bool is_plain = norm.pre_scale == norm::PreScale::none;
  const bool is_shared = heads == 1 || norm.heads_share;
  const bool is_inside = norm.epsilon_at == EpsilonAt::inside;
  const bool is_simple = is_plain && is_shared && norm.affine != Affine::scalar && is_inside;
  // One gain for each head is summed over the head's values, in double only by affine and formulas.
  const bool has_gain_per_head =
      norm.affine == Affine::scalar && norm.scope == Scope::head && !norm.heads_share;
  switch (path) {
    case NormPath::rms_norm:
      return is_simple && norm.partial == 1 && norm.affine != Affine::vector_bias;
    case NormPath::layer_norm:
      return is_simple;
    case NormPath::row_norm:  // absmax8 is of the whole row, the statistic of a group
      return !has_gain_per_head && (is_plain || kind.axis != norm::StatisticAxis::group);
    case NormPath::affine:
      return is_plain;
    case NormPath::bounded:
      return is_plain && !has_gain_per_head;
    case NormPath::column_norm:
      return is_plain && (is_shared || kind.states.empty());
    case NormPath::seed_norm:
      return is_plain && is_shared && is_inside;
    case NormPath::formula:
      break;
  }
  return true;
}

}  // namespace

const NormImplementation& implementation_of(Kind kind) {
  const auto& rows = implementations();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const NormImplementation& row) { return row.kind == kind; });
  EK_ASSERT(found != rows.end() && "every kind has an implementation");
  return *found;
}

NormPath path_of(const norm::Norm& norm, std::int64_t heads) {
  for (const auto path : implementation_of(norm.kind).operators) {
    if (takes(path, norm, heads)) return path;
  }
  return NormPath::formula;
}

bool has_fused_head_norm(const norm::Norm& norm, std::int64_t heads) {
  return norm.scope == Scope::head && path_of(norm, heads) == NormPath::rms_norm;
}

}  // namespace evenkeel::nn
