// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/stream_shift.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/pass.h"
#include "evenkeel/nn/state_guard.h"
#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::probe {

namespace {

double sum_of_squares(const at::Tensor& x) {
  return x.square().sum().item<double>();
}

/// tokens * sum_j (d mean_j)^2 + (d std_j)^2. \param before, after  [tokens, D], float64
double distribution_shift(const at::Tensor& before, const at::Tensor& after) {
  const auto deviation = [](const at::Tensor& x) { return x.var(0, /*unbiased=*/false).sqrt(); };
  const double shift = sum_of_squares(after.mean(0) - before.mean(0)) +
                       sum_of_squares(deviation(after) - deviation(before));
  return static_cast<double>(before.size(0)) * shift;
}

}  // namespace

StreamSnapshot::StreamSnapshot(const nn::Model& model, const nn::Parameters& parameters,
                               const data::Batch& batch, std::int64_t micro_batch_size)
    : parameters_(parameters),
      batch_(data::batch_slice(batch, 0, std::min(micro_batch_size, batch.rows))),
      before_(streams(model)) {}

std::vector<at::Tensor> StreamSnapshot::streams(const nn::Model& model) const {
  const at::NoGradGuard no_grad;
  const nn::StateGuard state_guard(parameters_);
  std::vector<at::Tensor> streams(static_cast<std::size_t>(model.scheme().shape.layers) + 1);
  nn::Observer observer;
  observer.stream = [&](std::int64_t l, const at::Tensor& stream) {
    streams.at(static_cast<std::size_t>(l)) = stream.flatten(0, 1).clone();
  };
  const auto [ids, targets] = nn::batch_tensors(batch_.inputs, batch_.targets, batch_.rows);
  model.hidden(ids, {.mode = nn::Mode::training, .observer = &observer});
  return streams;
}

std::vector<LayerProfile> StreamSnapshot::shifts(const nn::Model& model) const {
  const ops::SerialLibraries one_thread;  // sums by LibTorch
  const auto after = streams(model);
  LayerProfile values{"stream_shift", "", 0, {}},
      distribution{"stream_shift", "distribution", 0, {}};
  for (std::size_t l = 0; l < after.size(); ++l) {
    const auto old_stream = before_[l].to(at::kDouble), new_stream = after[l].to(at::kDouble);
    const double size = sum_of_squares(old_stream);
    values.values.push_back(std::sqrt(sum_of_squares(new_stream - old_stream) / size));
    distribution.values.push_back(std::sqrt(distribution_shift(old_stream, new_stream) / size));
  }
  return {std::move(values), std::move(distribution)};
}

}  // namespace evenkeel::probe
