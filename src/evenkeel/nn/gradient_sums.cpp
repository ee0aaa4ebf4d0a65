// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/gradient_sums.h"

#include <ATen/ATen.h>

namespace evenkeel::nn {

GradientSums::GradientSums(Parameters& parameters) : parameters_(&parameters) {
  for (const auto& group : parameters.groups()) sums_.push_back(group.gradient);
}

void GradientSums::start(bool several) {
  parameters_->zero_gradients();
  const auto& groups = parameters_->groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& gradient = groups[i].gradient;
    const bool apart = several && gradient.scalar_type() == at::kBFloat16;
    if (!apart) {
      sums_[i] = gradient;
    } else if (sums_[i].is_same(gradient)) {
      sums_[i] = at::zeros_like(gradient, at::kFloat);
    } else {
      sums_[i].zero_();
    }
  }
}

void GradientSums::add() {
  auto& groups = parameters_->groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (sums_[i].is_same(groups[i].gradient)) continue;
    sums_[i].add_(groups[i].gradient);
    groups[i].gradient.zero_();
  }
}

}  // namespace evenkeel::nn
