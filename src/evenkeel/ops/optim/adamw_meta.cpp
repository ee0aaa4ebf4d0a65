// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include "evenkeel/ops/optim/adamw_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

void adamw_in_place_meta(Tensor& weight, Tensor& first, Tensor& second, const Tensor& gradient,
                         const std::optional<Tensor>& copy, double lr, double beta1, double beta2,
                         double epsilon, double weight_decay, double gradient_scale,
                         std::int64_t step) {
  check_adamw({weight, first, second, gradient, copy},
              {lr, beta1, beta2, epsilon, weight_decay, gradient_scale, step});
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("adamw_", adamw_in_place_meta);
}

}  // namespace evenkeel::ops
