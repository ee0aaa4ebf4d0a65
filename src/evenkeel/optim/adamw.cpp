// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/optim/adamw.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/optim/adamw.h"
#include "evenkeel/ops/optim/block_squares.h"
#include "evenkeel/ops/optim/sum_of_squares.h"

namespace evenkeel::optim {

double weight_decay_of(const config::Optimizer& options, nn::ParameterRole role) {
  const bool decays = role == nn::ParameterRole::matrix || role == nn::ParameterRole::router ||
                      ((role == nn::ParameterRole::gain || role == nn::ParameterRole::scale) &&
                       options.decay_gains) ||
                      (role == nn::ParameterRole::embedding && options.decay_embedding);
  return decays ? options.weight_decay : 0;
}

AdamW::AdamW(const config::Optimizer& options, nn::Parameters& parameters,
             std::vector<nn::FlatRange> owned)
    : options_(options), parameters_(&parameters), owned_(std::move(owned)) {
  const auto& groups = parameters.groups();
  if (owned_.empty()) {
    for (const auto& group : groups) owned_.push_back({0, group.master.numel()});
  }
  EK_ASSERT(owned_.size() == groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    first_moments_.push_back(at::zeros({owned_[i].size()}, groups[i].master.options()));
    second_moments_.push_back(at::zeros({owned_[i].size()}, groups[i].master.options()));
  }
}

void AdamW::update(const std::vector<at::Tensor>& gradients, double scale, double rate,
                   std::int64_t step) {
  auto& groups = parameters_->groups();
  EK_ASSERT(gradients.size() == groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto& group = groups[i];
    const bool copies = !group.value.is_same(group.master);
    if (owned_[i].size() == 0) continue;
    const auto own = [&](const at::Tensor& flat) {
      return flat.narrow(0, owned_[i].begin, owned_[i].size());
    };
    ops::adamw_({.weight = own(group.master),
                 .first = first_moments_[i],
                 .second = second_moments_[i],
                 .gradient = own(gradients[i]),
                 .copy = copies ? std::optional(own(group.value)) : std::nullopt},
                {.lr = rate,
                 .beta1 = options_.beta1,
                 .beta2 = options_.beta2,
                 .epsilon = options_.epsilon,
                 .weight_decay = weight_decay_of(options_, group.role),
                 .gradient_scale = scale,
                 .step = step});
  }
}

double gradient_norm(const std::vector<at::Tensor>& gradients) {
  double sum = 0;
  for (const double of_group : ops::sums_of_squares(gradients)) sum += of_group;
  return std::sqrt(sum);
}

double gradient_norm(const std::vector<std::vector<double>>& squares) {
  double sum = 0;
  for (const auto& of_group : squares) sum += ops::tree_sum(of_group);
  return std::sqrt(sum);
}

double clip_scale(double norm, double clip) {
  constexpr double kTiny = 1e-6;
  return clip > 0 ? std::min(1.0, clip / (norm + kTiny)) : 1.0;
}

}  // namespace evenkeel::optim
