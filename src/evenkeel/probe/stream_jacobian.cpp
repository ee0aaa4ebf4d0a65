// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/stream_jacobian.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/autograd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/pass.h"
#include "evenkeel/probe/activation_stats.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

/// u for rows [first, first + shape[0]) of the batch. \param shape  [B, T, D]
at::Tensor direction(std::int64_t first, at::IntArrayRef shape) {
  std::vector<at::Tensor> rows;
  for (std::int64_t row = first; row < first + shape[0]; ++row) {
    rows.push_back(
        randn(static_cast<std::uint64_t>(row), "probe/stream_jacobian", {shape[1], shape[2]}));
  }
  return at::stack(rows);
}

}  // namespace

LayerProfile stream_jacobian(const nn::Model& model, const data::Batch& batch,
                             std::int64_t micro_batch_size) {
  const at::AutoGradMode with_graph(true);
  const auto layers = static_cast<std::size_t>(model.scheme().shape.layers);
  std::vector<WeightedMean> squares(layers + 1);  // of g_l
  WeightedMean of_direction;
  for (std::int64_t first = 0; first < batch.rows; first += micro_batch_size) {
    const auto part =
        data::batch_slice(batch, first, std::min(micro_batch_size, batch.rows - first));
    std::vector<at::Tensor> streams(layers + 1);
    nn::Observer observer;
    observer.stream = [&](std::int64_t l, const at::Tensor& stream) {
      streams.at(static_cast<std::size_t>(l)) = stream;
    };
    const auto [ids, targets] = nn::batch_tensors(part.inputs, part.targets, part.rows);
    model.hidden(ids, {.mode = nn::Mode::training, .observer = &observer, .keeps_graph = true});
    const auto& last = streams.back();
    const auto u = direction(first, last.sizes()).to(last.options());
    const auto gradients = torch::autograd::grad({last}, streams, {u});
    const auto tokens = static_cast<double>(last.size(0) * last.size(1));
    of_direction.add(mean_square(u), tokens);
    for (std::size_t l = 0; l <= layers; ++l) squares[l].add(mean_square(gradients[l]), tokens);
  }
  LayerProfile profile{"stream_jacobian", "", 0, {}};
  for (const auto& square : squares)
    profile.values.push_back(std::sqrt(square.value() / of_direction.value()));
  return profile;
}

}  // namespace evenkeel::probe
