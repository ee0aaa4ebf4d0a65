// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/norm_path.h"

namespace evenkeel::nn {

using norm::Affine;
using norm::EpsilonAt;
using norm::Kind;
using norm::Scope;

NormPath path_of(const norm::Norm& norm, std::int64_t heads) {
  const bool is_plain = norm.pre_scale == norm::PreScale::none;
  const bool is_shared = heads == 1 || norm.heads_share;
  const bool is_simple = is_plain && is_shared && norm.affine != Affine::scalar &&
                         norm.epsilon_at == EpsilonAt::inside;
  // One gain a head is added up over the head's values, in double only by formulas.
  const bool is_one_a_head =
      norm.affine == Affine::scalar && norm.scope == Scope::head && !norm.heads_share;
  const auto of_rows = is_one_a_head ? NormPath::formula : NormPath::row_norm;
  switch (norm.kind) {
    case Kind::rms_norm:
      return is_simple && norm.partial == 1 && norm.affine != Affine::vector_bias
                 ? NormPath::rms_norm
                 : of_rows;
    case Kind::layer_norm:
      return is_simple ? NormPath::layer_norm : of_rows;
    case Kind::l2:
    case Kind::scale_norm:
      return of_rows;
    case Kind::group_norm:  // absmax8 is of the whole row, the statistic of a group
      return is_plain ? of_rows : NormPath::formula;
    case Kind::scale:
      return is_plain && !is_one_a_head ? NormPath::affine : NormPath::formula;
    case Kind::batch_norm:
    case Kind::batch_renorm:
      return is_plain && is_shared ? NormPath::column_norm : NormPath::formula;
    case Kind::instance_norm:
      return is_plain ? NormPath::column_norm : NormPath::formula;
    case Kind::dyt:
    case Kind::derf:
      return is_plain && !is_one_a_head ? NormPath::bounded : NormPath::formula;
    case Kind::seed_norm:
      return is_plain && is_shared && norm.epsilon_at == EpsilonAt::inside ? NormPath::seed_norm
                                                                           : NormPath::formula;
  }
  return NormPath::formula;
}

bool has_fused_head_norm(const norm::Norm& norm, std::int64_t heads) {
  return norm.scope == Scope::head && path_of(norm, heads) == NormPath::rms_norm;
}

}  // namespace evenkeel::nn
