// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/probe.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <utility>

#include "evenkeel/config/measures.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/probe/gradients.h"
#include "evenkeel/probe/activation_recorder.h"

namespace evenkeel::probe {

namespace {

/// Puts the states of a model back at the end of its life.
class States {
 public:
  explicit States(const nn::Parameters& parameters) : parameters_(parameters) {
    for (const auto& [name, state] : parameters.states()) copies_[name] = state.clone();
  }
  States(const States&) = delete;
  States& operator=(const States&) = delete;
  ~States() { restore(); }

  void restore() const {
    const at::NoGradGuard no_grad;
    for (const auto& [name, copy] : copies_) parameters_.find_state(name).copy_(copy);
  }

 private:
  const nn::Parameters& parameters_;
  std::map<std::string, at::Tensor> copies_;
};

/// The mean loss of a batch; with its gradient, if `parameters` are given, which get it.
double pass(const nn::Model& model, const data::Batch& batch, std::int64_t micro_batch_size,
            const nn::Pass& options, nn::Parameters* parameters = nullptr) {
  const at::AutoGradMode mode(parameters != nullptr);
  if (parameters != nullptr) parameters->zero_gradients();
  const auto scored = static_cast<double>(batch.scored);
  double loss = 0;
  for (std::int64_t first = 0; first < batch.rows; first += micro_batch_size) {
    const auto part = data::batch_slice(batch, first, std::min(micro_batch_size, batch.rows - first));
    const auto [ids, targets] = nn::batch_tensors(part.inputs, part.targets, part.rows);
    const auto sum = model.loss_sum(ids, targets, options);
    loss += sum.item<double>();
    if (parameters == nullptr) continue;
    (sum / scored).backward();
    parameters->accumulate_gradients();
  }
  return loss / scored;
}

}  // namespace

std::set<std::string> named(const std::vector<std::string>& words) {
  std::set<std::string> what;
  for (const auto& word : words) {
    if (word != "all") what.insert(word);
    for (const auto& measure : config::measures()) {
      if (word == "all" && measure.by_default) what.insert(measure.name);
    }
  }
  return what;
}

const LayerProfile* Seen::find(const std::string& measure, const std::string& part) const {
  const auto found = std::find_if(profiles.begin(), profiles.end(), [&](const LayerProfile& each) {
    return each.measure == measure && each.part == part;
  });
  return found == profiles.end() ? nullptr : &*found;
}

Seen look(const nn::Model& model, nn::Parameters& parameters, const data::Batch& batch,
          const std::set<std::string>& what, std::int64_t micro_batch_size, std::int64_t planned) {
  const auto& scheme = model.scheme();
  const auto layers = scheme.shape.layers;
  const States states(parameters);
  ActivationRecorder recorder(layers, what);
  Seen seen;
  const auto add = [&](std::vector<LayerProfile> more) {
    std::move(more.begin(), more.end(), std::back_inserter(seen.profiles));
  };
  const auto observer = recorder.observer();
  const nn::Pass looking = {.mode = nn::Mode::training, .observer = &observer};
  if (what.contains("grad_norm")) {
    seen.loss = pass(model, batch, micro_batch_size, looking, &parameters);
    add(gradient_norms(parameters, parameters.gradients(), scheme));
  } else {
    seen.loss = pass(model, batch, micro_batch_size, looking);
  }
  parameters.zero_gradients();
  add(recorder.profiles());
  if (what.contains("gain_drift")) add(gain_drifts(parameters, scheme, planned));
  if (what.contains("skip_loss")) {
    LayerProfile rise{"skip_loss", "", 1, {}};
    for (std::int64_t l = 1; l <= layers; ++l) {
      states.restore();
      const auto without = pass(model, batch, micro_batch_size, {.mode = nn::Mode::training, .skipped_block = l});
      rise.values.push_back(without - seen.loss);
    }
    add({std::move(rise)});
  }
  return seen;
}

nlohmann::ordered_json record(std::int64_t step, const std::string& on, const LayerProfile& profile) {
  return {{"step", step},
          {"on", on},
          {"measure", profile.measure},
          {"part", profile.part},
          {"first", profile.first},
          {"values", profile.values}};
}

}  // namespace evenkeel::probe
