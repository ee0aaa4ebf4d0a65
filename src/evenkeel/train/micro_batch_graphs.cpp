// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/micro_batch_graphs.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <utility>

#include "evenkeel/nn/z_loss.h"

namespace evenkeel::train {

namespace {

/// Passes before a capture: libraries allocate workspaces and compile plans in the first.
constexpr int kWarmUps = 2;

bool has_callback(const nn::Observer& observer) {
  return observer.stream || observer.branch || observer.attention || observer.routing;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Queues a copy to the GPU.
void copy_ids(const at::Tensor& to, const at::Tensor& from) {
  to.copy_(from.pin_memory(), /*non_blocking=*/true);
}

}  // namespace

bool can_be_captured(const nn::Model& model, at::Device device, const nn::Observer& observer) {
  return device.is_cuda() && !model.scheme().shape.is_mixture() && !has_callback(observer) &&
         !model.names_step() && !model.uses_library_operators();
}

PassLoss training_loss(const nn::Model& model, const at::Tensor& ids, const at::Tensor& targets,
                       nn::Pass pass, double z_loss) {
  pass.mode = nn::Mode::training;
  nn::ZLoss z = {.coefficient = z_loss};
  if (z_loss != 0) pass.z_loss = &z;
  const auto total = model.loss_sum(ids, targets, pass);
  if (z_loss == 0) return {total, {total.detach(), {}}};
  return {total, {z.cross_entropy, z.squared_lse}};
}

MicroBatchGraphs::MicroBatchGraphs(const nn::Model& model, nn::Parameters& parameters, bool is_on,
                                   double z_loss)
    : model_(&model), parameters_(&parameters), is_on_(is_on), z_loss_(z_loss) {}

bool MicroBatchGraphs::takes(const nn::Observer& observer) const {
  return is_on_ && can_be_captured(*model_, parameters_->device(), observer) && !at::hasCallbacks();
}

std::string MicroBatchGraphs::take_failure() {
  return std::exchange(failure_, {});
}

/// Both passes, without a graph or within a capture.
PassSums MicroBatchGraphs::pass(const at::Tensor& ids, const at::Tensor& targets) {
  const auto loss = training_loss(*model_, ids, targets, {}, z_loss_);
  loss.total.backward(upstream_);
  // Not accumulate_gradients(): buffers that no pass writes become zeros here, so that the state
  // after the first micro-batch is the same for all buffers.
  parameters_->gradients();
  return loss.sums;
}

/// Sets upstream_ to the gradient of `sum / scored`, with the bits that autograd computes.
void MicroBatchGraphs::set_scored(double scored) {
  if (upstream_.defined() && scored == scored_) return;
  const auto options =
      at::TensorOptions(parameters_->device()).dtype(nn::master_dtype(parameters_->precision()));
  const auto sum = at::zeros({}, options).requires_grad_();
  (sum / scored).backward();
  if (!upstream_.defined()) upstream_ = at::empty({}, options);
  upstream_.copy_(sum.grad());
  scored_ = scored;
}

MicroBatchGraphs::Entry& MicroBatchGraphs::entry_of(const MicroBatch& batch) {
  if (graphs_ != nullptr && evaluations_ != model_->evaluations()) {
    entries_.clear();
    graphs_.reset();
  }
  if (graphs_ == nullptr) graphs_ = std::make_unique<ops::GpuGraphs>(parameters_->device());
  evaluations_ = model_->evaluations();
  auto& entry = entries_[{batch.ids.size(0), batch.ids.size(1), batch.is_first}];
  if (!entry.ids.defined()) {
    entry.ids = at::empty(batch.ids.sizes(), batch.ids.options().device(parameters_->device()));
    entry.targets = at::empty_like(entry.ids);
  }
  return entry;
}

/// Captures the passes of an entry.
/// \return false: it is not possible, nothing has changed, and later passes run without graphs
bool MicroBatchGraphs::capture(Entry& entry, bool is_first) {
  if (!graphs_->has_memory_for_capture()) {
    failure_ = "less free memory than twice that of the activations";
    stop();
    return false;
  }
  entry.rotary = model_->rotary_angles(entry.ids.size(1));
  try {
    entry.graph = graphs_->capture([&] { entry.sums = pass(entry.ids, entry.targets); });
    ++captures_;
    return true;
  } catch (const c10::Error& error) {
    failure_ = first_line(error.what_without_backtrace());
  }
  // No kernel ran, but functions of the host did.
  for (const auto& each : parameters_->all()) each.value.mutable_grad().reset();
  if (is_first) parameters_->zero_gradients();
  stop();
  return false;
}

void MicroBatchGraphs::stop() {
  is_on_ = false;
  entries_.clear();
  graphs_.reset();
}

PassSums MicroBatchGraphs::run(const MicroBatch& batch) {
  set_scored(batch.scored);
  auto& entry = entry_of(batch);
  copy_ids(entry.ids, batch.ids);
  copy_ids(entry.targets, batch.targets);
  if (entry.warm_ups < kWarmUps) {
    ++entry.warm_ups;
    PassSums sums;
    graphs_->warm_up([&] { sums = pass(entry.ids, entry.targets); });
    return sums;
  }
  if (!entry.graph && !capture(entry, batch.is_first)) return pass(batch.ids, batch.targets);
  graphs_->launch(*entry.graph);
  parameters_->mark_gradients_written();
  ++launches_;
  const auto& [cross_entropy, squared_lse] = entry.sums;
  return {cross_entropy.clone(), squared_lse.defined() ? squared_lse.clone() : squared_lse};
}

}  // namespace evenkeel::train
