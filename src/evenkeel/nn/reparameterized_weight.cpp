// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/reparameterized_weight.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/sigma_reparam.h"
#include "evenkeel/ops/norms/weight_norm.h"

namespace evenkeel::nn {

using at::Tensor;

Tensor weight_norm(const Tensor& v, const Tensor& row_gain, bool fused) {
  if (fused) return ops::weight_norm(v, row_gain);
  return ops::reference::weight_norm_rows(v.to(row_gain.scalar_type()), row_gain)
      .to(v.scalar_type());
}

Tensor sigma_reparam(const Tensor& v, const Tensor& gamma, const Tensor& left, const Tensor& right,
                     bool fused) {
  if (fused) return ops::sigma_reparam(v, gamma, left, right);
  // Clones, since a later pass moves the state while this pass's graph still needs it.
  return ops::reference::sigma_rows(v.to(gamma.scalar_type()), gamma, left.clone(), right.clone())
      .to(v.scalar_type());
}

void power_iteration(const Tensor& v, const Tensor& left, const Tensor& right) {
  const at::NoGradGuard no_grad;
  ops::power_iteration_(v, left, right);
}

}  // namespace evenkeel::nn
