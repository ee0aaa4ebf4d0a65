// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/learner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/batch.h"

namespace evenkeel::train {

namespace {

std::map<std::string, at::Tensor> copies_of(std::map<std::string, at::Tensor> tensors) {
  for (auto& [name, tensor] : tensors) tensor = tensor.clone();
  return tensors;
}

}  // namespace

Learner::Learner(const config::Optimizer& options, const nn::Model& model,
                 nn::Parameters& parameters)
    : options_(options),
      model_(&model),
      parameters_(&parameters),
      optimizer_(options, parameters),
      hooks_(model, parameters) {
  for (const auto& group : parameters.groups()) gradients_.push_back(group.gradient);
}

Outcome Learner::learn(const data::Batch& batch, std::int64_t rows, double rate,
                       const Judge& judge) {
  Outcome outcome;
  const auto states = copies_of(parameters_->states());
  outcome.loss = backward(batch, rows);
  outcome.gradient_norm = optim::gradient_norm(gradients_);
  // Selection, not multiplication: NaN * 0 is NaN, so a bad step must not reach the update.
  const bool finite = std::isfinite(outcome.loss) && std::isfinite(outcome.gradient_norm);
  const bool allowed = !judge || judge(outcome);
  if (!finite || !allowed) {
    for (const auto& [name, state] : states) parameters_->find_state(name).copy_(state);
    hooks_.forget();
    return outcome;
  }
  const double scale = optim::clip_scale(outcome.gradient_norm, options_.clip);
  optimizer_.update(gradients_, scale, rate, ++updates_);
  hooks_.after_update();
  outcome.clipped = scale < 1;
  outcome.applied = true;
  return outcome;
}

/// Leaves the gradient of the mean loss in gradients_; returns the mean loss.
double Learner::backward(const data::Batch& batch, std::int64_t rows) {
  EK_ASSERT(batch.scored > 0 && rows > 0);
  const auto scored = static_cast<double>(batch.scored);
  start_sums(rows < batch.rows);
  double loss = 0;
  for (std::int64_t first = 0; first < batch.rows; first += rows) {
    const auto part = data::part_of(batch, first, std::min(rows, batch.rows - first));
    const auto [ids, targets] = nn::tensors_of(part.inputs, part.targets, part.rows);
    const auto sum =
        model_->loss_sum(ids, targets, {.mode = nn::Mode::training, .observer = hooks_.observer()});
    loss += sum.item<double>();
    (sum / scored).backward();
    add_to_sums();
  }
  return loss / scored;
}

/// Gradients of several parts add up where backward leaves them; but a bfloat16 buffer would round
/// every sum, so its parts are summed in float32 beside it.
void Learner::start_sums(bool several) {
  parameters_->zero_gradients();
  const auto& groups = parameters_->groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& gradient = groups[i].gradient;
    const bool apart = several && gradient.scalar_type() == at::kBFloat16;
    if (!apart) {
      gradients_[i] = gradient;
    } else if (gradients_[i].is_same(gradient)) {
      gradients_[i] = at::zeros_like(gradient, at::kFloat);
    } else {
      gradients_[i].zero_();
    }
  }
}

void Learner::add_to_sums() {
  auto& groups = parameters_->groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (gradients_[i].is_same(groups[i].gradient)) continue;
    gradients_[i].add_(groups[i].gradient);
    groups[i].gradient.zero_();
  }
}

}  // namespace evenkeel::train
