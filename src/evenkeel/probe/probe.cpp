// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/probe.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "evenkeel/config/measures.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/nn/state_guard.h"
#include "evenkeel/nn/z_loss.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/probe/activation_recorder.h"
#include "evenkeel/probe/gradients.h"
#include "evenkeel/probe/stream_jacobian.h"

namespace evenkeel::probe {

namespace {

/// Calls use(micro-batch, loss_sum) for each micro-batch, in order.
/// \return the mean cross-entropy of the batch, nats per token
template <typename Use>
double for_each_micro_batch(const nn::Model& model, const data::Batch& batch,
                            std::int64_t micro_batch_size, const nn::Pass& options,
                            const Use& use) {
  double loss = 0;
  for (std::int64_t first = 0; first < batch.rows; first += micro_batch_size) {
    const auto part =
        data::batch_slice(batch, first, std::min(micro_batch_size, batch.rows - first));
    const auto [ids, targets] = nn::batch_tensors(part.inputs, part.targets, part.rows);
    const auto sum = model.loss_sum(ids, targets, options);
    loss += (options.z_loss == nullptr ? sum : options.z_loss->cross_entropy).item<double>();
    use(part, sum);
  }
  return loss / static_cast<double>(batch.scored);
}

/// The mean cross-entropy of a batch, nats per token.
double mean_loss(const nn::Model& model, const data::Batch& batch, std::int64_t micro_batch_size,
                 const nn::Pass& options) {
  const at::NoGradGuard no_grad;
  return for_each_micro_batch(model, batch, micro_batch_size, options,
                              [](const data::Batch&, const at::Tensor&) {});
}

/// mean_loss(), and the gradients of an optimizer step (Learner::train_step): those of the mean
/// loss and of the auxiliary losses.
double mean_loss_with_gradients(const nn::Model& model, nn::Parameters& parameters,
                                const AuxiliaryLosses& auxiliary, const data::Batch& batch,
                                std::int64_t micro_batch_size, nn::Pass options) {
  const at::AutoGradMode mode(true);
  parameters.zero_gradients();
  nn::RouterLosses router;
  nn::ZLoss z_loss{.coefficient = auxiliary.z_loss};
  options.router = &router;
  if (auxiliary.z_loss != 0) options.z_loss = &z_loss;
  const auto& experts = auxiliary.experts;
  const auto scored = static_cast<double>(batch.scored);
  const auto backward = [&](const data::Batch& part, const at::Tensor& sum) {
    const double share = static_cast<double>(part.rows) / static_cast<double>(batch.rows);
    auto loss = sum / scored;
    if (router.balance.defined()) {
      loss =
          loss + router.balance * (share * experts.balance) + router.z * (share * experts.router_z);
    }
    loss.backward();
    parameters.accumulate_gradients();
  };
  return for_each_micro_batch(model, batch, micro_batch_size, options, backward);
}

}  // namespace

std::set<std::string> measures_named(const std::vector<std::string>& names) {
  std::set<std::string> measures;
  for (const auto& name : names) {
    if (name != "all") measures.insert(name);
    for (const auto& measure : config::measures()) {
      if (name == "all" && measure.by_default) measures.insert(measure.name);
    }
  }
  return measures;
}

std::set<std::string> without_updates(std::set<std::string> measures) {
  std::erase_if(measures, [](const auto& name) { return config::measure_named(name)->of_update; });
  return measures;
}

const LayerProfile* ProbeResult::find(const std::string& measure, const std::string& part) const {
  const auto found = std::find_if(profiles.begin(), profiles.end(), [&](const LayerProfile& each) {
    return each.measure == measure && each.part == part;
  });
  return found == profiles.end() ? nullptr : &*found;
}

ProbeResult run_probe(const nn::Model& model, nn::Parameters& parameters,
                      const AuxiliaryLosses& auxiliary, const data::Batch& batch,
                      const std::set<std::string>& measures, std::int64_t micro_batch_size,
                      std::int64_t planned) {
  const ops::SerialLibraries one_thread;  // statistics are sums by LibTorch
  const auto& scheme = model.scheme();
  const auto layers = scheme.shape.layers;
  const nn::StateGuard state_guard(parameters);
  ActivationRecorder recorder(layers, measures);
  ProbeResult result;
  const auto add = [&](std::vector<LayerProfile> more) {
    std::move(more.begin(), more.end(), std::back_inserter(result.profiles));
  };
  const auto observer = recorder.observer();
  const nn::Pass options = {.mode = nn::Mode::training, .observer = &observer};
  if (measures.contains("grad_norm")) {
    result.loss =
        mean_loss_with_gradients(model, parameters, auxiliary, batch, micro_batch_size, options);
    add(gradient_norms(parameters, parameters.gradients(), scheme));
  } else {
    result.loss = mean_loss(model, batch, micro_batch_size, options);
  }
  parameters.zero_gradients();
  add(recorder.profiles());
  if (measures.contains("weight_norm")) add(weight_norms(parameters, scheme));
  if (measures.contains("gain_drift")) add(gain_drifts(parameters, scheme, planned));
  if (measures.contains("stream_jacobian")) {
    state_guard.restore();
    add({stream_jacobian(model, batch, micro_batch_size)});
  }
  if (measures.contains("skip_loss")) {
    LayerProfile increase{"skip_loss", "", 1, {}};
    for (std::int64_t l = 1; l <= layers; ++l) {
      state_guard.restore();
      const auto without = mean_loss(model, batch, micro_batch_size,
                                     {.mode = nn::Mode::training, .skipped_block = l});
      increase.values.push_back(without - result.loss);
    }
    add({std::move(increase)});
  }
  return result;
}

nlohmann::ordered_json record(std::int64_t step, const std::string& on,
                              const LayerProfile& profile) {
  return {{"step", step},
          {"on", on},
          {"measure", profile.measure},
          {"part", profile.part},
          {"first", profile.first},
          {"values", profile.values}};
}

}  // namespace evenkeel::probe
