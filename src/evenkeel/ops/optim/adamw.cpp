// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/adamw.h"

#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/optim/adamw_common.h"

namespace evenkeel::ops {

void adamw_(const AdamwBuffers& buffers, const AdamwStep& step) {
  static const auto op = registered_operator<AdamwSignature>("evenkeel::adamw_");
  const at::NoGradGuard no_grad;
  auto [weight, first, second, gradient, copy] = buffers;
  op.call(weight, first, second, gradient, copy, step.lr, step.beta1, step.beta2, step.epsilon,
          step.weight_decay, step.gradient_scale, step.step, step.take_over);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "adamw_(Tensor(a!) weight, Tensor(b!) first, Tensor(c!) second, Tensor gradient,"
      " Tensor(d!)? copy, float lr, float beta1, float beta2, float epsilon, float weight_decay,"
      " float gradient_scale, int step, bool take_over=False) -> ()");
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("adamw_", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("adamw_", adamw_of_arguments<check_adamw>);
}

}  // namespace evenkeel::ops
