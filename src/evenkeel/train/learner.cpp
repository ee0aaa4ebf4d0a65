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
      hooks_(model, parameters),
      gradients_(parameters) {}

Outcome Learner::learn(const data::Batch& batch, std::int64_t rows, double rate,
                       const Judge& judge) {
  Outcome outcome;
  const auto states = copies_of(parameters_->states());
  outcome.loss = backward(batch, rows);
  outcome.gradient_norm = optim::gradient_norm(gradients());
  // Selection, not multiplication: NaN * 0 is NaN, so a bad step must not reach the update.
  const bool finite = std::isfinite(outcome.loss) && std::isfinite(outcome.gradient_norm);
  const bool allowed = !judge || judge(outcome);
  if (!finite || !allowed) {
    for (const auto& [name, state] : states) parameters_->find_state(name).copy_(state);
    hooks_.forget();
    return outcome;
  }
  const double scale = optim::clip_scale(outcome.gradient_norm, options_.clip);
  optimizer_.update(gradients(), scale, rate, ++updates_);
  hooks_.after_update();
  outcome.clipped = scale < 1;
  outcome.applied = true;
  return outcome;
}

/// Leaves the gradient of the mean loss in gradients_; returns the mean loss.
double Learner::backward(const data::Batch& batch, std::int64_t rows) {
  EK_ASSERT(batch.scored > 0 && rows > 0);
  const auto scored = static_cast<double>(batch.scored);
  gradients_.start(rows < batch.rows);
  double loss = 0;
  for (std::int64_t first = 0; first < batch.rows; first += rows) {
    const auto part = data::part_of(batch, first, std::min(rows, batch.rows - first));
    const auto [ids, targets] = nn::tensors_of(part.inputs, part.targets, part.rows);
    const auto sum = model_->loss_sum(ids, targets,
                                      {.mode = nn::Mode::training, .observer = &hooks_.observer()});
    loss += sum.item<double>();
    (sum / scored).backward();
    gradients_.add();
  }
  return loss / scored;
}

}  // namespace evenkeel::train
