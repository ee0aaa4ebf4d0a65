// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/learner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/memory/release_pages.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/nn/state_guard.h"
#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::train {

struct Learner::ShardSums {
  double loss = 0;         // cross-entropy, nats: the sum over scored tokens
  double squared_lse = 0;  // likewise, with a z-loss
  double balance_loss = 0, router_z_loss = 0;
  std::vector<double> routing;  // probe::RoutingRecorder::values()

  std::vector<double> row() const {
    std::vector<double> values = {loss, squared_lse, balance_loss, router_z_loss};
    values.insert(values.end(), routing.begin(), routing.end());
    return values;
  }
};

/// Scalars on their device.
struct Learner::LossParts {
  std::vector<at::Tensor> loss, squared_lse, balance, z;
  std::vector<double> shares;  // of the batch, of balance and z
};

namespace {

/// The values of scalars, copied at once.
std::vector<double> values_of(const std::vector<at::Tensor>& scalars) {
  if (scalars.empty()) return {};
  const auto all = at::stack(scalars).to(at::kCPU, at::kDouble).contiguous();
  const auto* const begin = all.const_data_ptr<double>();
  return {begin, begin + all.numel()};
}

}  // namespace

nlohmann::ordered_json routing_record(const StepResult& result) {
  const auto& stats = result.routing;
  const bool is_finite = std::all_of(stats.largest_logit.begin(), stats.largest_logit.end(),
                                     [](double logit) { return std::isfinite(logit); });
  if (!is_finite) return nlohmann::ordered_json::object();  // no valid routing
  double load = 0, dead = 0, entropy = 0, logit = 0;
  std::int64_t arrived = 0;
  const auto routers = static_cast<double>(stats.blocks.size());
  for (std::size_t i = 0; i < stats.blocks.size(); ++i) {
    load = std::max(load, stats.max_load(i));
    dead += stats.dead_share(i) / routers;
    entropy += stats.entropy[i] / routers;
    logit = std::max(logit, stats.largest_logit[i]);
    arrived = std::accumulate(stats.tokens[i].begin(), stats.tokens[i].end(), arrived);
  }
  return {{"balance_loss", result.balance_loss},
          {"router_z_loss", result.router_z_loss},
          {"load_max", load},
          {"dead_experts", dead},
          {"routing_entropy", entropy},
          {"router_logit_max", logit},
          {"dropped", result.expert_choices - arrived},  // always 0: experts have no capacity
          {"expert_blocks", stats.blocks},
          {"tokens_per_expert", stats.tokens}};
}

Learner::Learner(const config::Optimizer& options, const nn::Model& model,
                 nn::Parameters& parameters, const config::Experts& experts,
                 const DataParallel& parallel, const StepOptions& step)
    : options_(options),
      experts_(experts),
      z_loss_(step.z_loss),
      model_(&model),
      parameters_(&parameters),
      reducer_(parameters, parallel),
      optimizer_(options, parameters, reducer_.owned()),
      hooks_(model, parameters),
      graphs_(model, parameters, step.cuda_graphs, step.z_loss),
      gradients_(parameters.gradients()) {
  // Hooks copy all masters to the values.
  EK_ASSERT(model.scheme().hooks.empty() || reducer_.group().ranks() == 1 ||
            reducer_.sharding() == Sharding::none);
}

StepResult Learner::train_step(const data::Batch& batch, std::int64_t micro_batch_size, double rate,
                               const UpdateGuard& allow_update) {
  nn::StateGuard states(*parameters_);
  release_masters();
  auto result = backward(batch, micro_batch_size);
  result.gradient_norm = reducer_.norm(gradients_);
  // A branch, not a multiplication by 0: NaN * 0 is NaN.
  const bool finite = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
  const bool allowed = !allow_update || allow_update(result);
  if (!finite || !allowed) {
    hooks_.after_skipped_update();
    return result;
  }
  states.release();
  const double scale = optim::clip_scale(result.gradient_norm, options_.clip);
  update(scale, rate);
  update_expert_biases(result.routing);
  result.clipped = scale < 1;
  result.applied = true;
  return result;
}

/// Updates the own range of all masters, and gives every rank the values of all.
void Learner::update(double scale, double rate) {
  optimizer_.update(gradients_, scale, rate, ++updates_);
  if (reducer_.sharding() != Sharding::none) {
    std::vector<at::Tensor> values;
    for (const auto& group : parameters_->groups()) values.push_back(group.value);
    reducer_.gather(values);
  }
  hooks_.gather_scores(reducer_.group());
  hooks_.after_update();
}

void Learner::gather_gradients() {
  if (reducer_.sharding() != Sharding::none) reducer_.gather(gradients_);
}

void Learner::gather_masters() {
  if (has_whole_masters_) return;
  std::vector<at::Tensor> masters;
  for (const auto& group : parameters_->groups()) masters.push_back(group.master);
  reducer_.gather(masters);
  has_whole_masters_ = true;
}

/// Gives up the memory of masters that other ranks own: the step needs the copies alone.
void Learner::release_masters() {
  const bool owns_all = reducer_.group().ranks() == 1 || reducer_.sharding() == Sharding::none;
  if (owns_all || !has_whole_masters_) return;
  for (std::size_t i = 0; i < parameters_->groups().size(); ++i) {
    const auto& group = parameters_->groups()[i];
    if (group.value.is_same(group.master)) continue;
    const auto own = optimizer_.owned()[i];
    memory::release_pages(group.master.narrow(0, 0, own.begin));
    memory::release_pages(group.master.narrow(0, own.end, group.master.numel() - own.end));
    has_whole_masters_ = false;
  }
}

/// Runs forward and backward pass of the own shards. The gradient of the loss is in gradients_.
StepResult Learner::backward(const data::Batch& batch, std::int64_t micro_batch_size) {
  EK_ASSERT(batch.scored > 0 && micro_batch_size > 0 &&
            batch.rows % reducer_.layout().shards() == 0);
  const ops::SerialLibraries one_thread(model_->uses_library_operators());
  std::vector<ShardSums> sums;
  for (const auto shard : reducer_.own_shards()) {
    parameters_->zero_gradients();
    sums.push_back(backward_shard(batch, shard, micro_batch_size));
    gradients_ = parameters_->gradients();
    reducer_.add(gradients_, /*is_last=*/shard == reducer_.own_shards().back());
  }
  return result_of(sums, batch);
}

/// Runs forward and backward pass of one micro-batch, as a CUDA graph where that is possible.
/// \param share  of the sequences of the batch
void Learner::backward_micro_batch(const MicroBatch& part, double share,
                                   const nn::Observer& observer, LossParts& parts) {
  const auto record = [&parts](const PassSums& sums) {
    parts.loss.push_back(sums.cross_entropy);
    if (sums.squared_lse.defined()) parts.squared_lse.push_back(sums.squared_lse);
  };
  if (graphs_.takes(hooks_.observer())) {
    record(graphs_.run(part));
    return;
  }
  nn::RouterLosses router;
  const auto [total, sums] = training_loss(*model_, part.ids, part.targets,
                                           {.observer = &observer, .router = &router}, z_loss_);
  record(sums);
  auto loss = total / part.scored;
  if (router.balance.defined()) {
    parts.balance.push_back(router.balance.detach());
    parts.z.push_back(router.z.detach());
    parts.shares.push_back(share);
    loss =
        loss + router.balance * (share * experts_.balance) + router.z * (share * experts_.router_z);
  }
  loss.backward();
  parameters_->accumulate_gradients();
}

/// Runs forward and backward pass of the micro-batches of one shard.
Learner::ShardSums Learner::backward_shard(const data::Batch& batch, std::int64_t shard,
                                           std::int64_t micro_batch_size) {
  const auto rows = batch.rows / reducer_.layout().shards();
  const auto end = (shard + 1) * rows;
  probe::RoutingRecorder recorder;
  auto observer = hooks_.observer();
  observer.routing = [&](std::int64_t l, const nn::Routing& routing) {
    recorder.record(l, routing);
  };
  ShardSums sums;
  LossParts parts;
  for (std::int64_t first = shard * rows; first < end; first += micro_batch_size) {
    const auto part = data::batch_slice(batch, first, std::min(micro_batch_size, end - first));
    const auto [ids, targets] = nn::batch_tensors(part.inputs, part.targets, part.rows);
    const double share = static_cast<double>(part.rows) / static_cast<double>(batch.rows);
    backward_micro_batch({.ids = ids,
                          .targets = targets,
                          .scored = static_cast<double>(batch.scored),
                          .is_first = first == shard * rows},
                         share, observer, parts);
  }
  // Read when all work is queued: a GPU would wait for the next part otherwise.
  for (const double loss : values_of(parts.loss)) sums.loss += loss;
  for (const double square : values_of(parts.squared_lse)) sums.squared_lse += square;
  const auto balance = values_of(parts.balance), z = values_of(parts.z);
  for (std::size_t i = 0; i < parts.shares.size(); ++i) {
    sums.balance_loss += parts.shares[i] * balance[i];
    sums.router_z_loss += parts.shares[i] * z[i];
  }
  sums.routing = recorder.values();
  return sums;
}

/// Adds up what all shards of a batch gave, in their order.
StepResult Learner::result_of(const std::vector<ShardSums>& own, const data::Batch& batch) {
  std::vector<std::vector<double>> rows(own.size());
  std::transform(own.begin(), own.end(), rows.begin(), [](const auto& sums) { return sums.row(); });
  StepResult result;
  probe::RoutingRecorder recorder;
  double squared_lse = 0;
  for (const auto& row : reducer_.gather_rows(rows)) {
    result.loss += row[0];
    squared_lse += row[1];
    result.balance_loss += row[2];
    result.router_z_loss += row[3];
    recorder.add({row.begin() + 4, row.end()});
  }
  result.loss /= static_cast<double>(batch.scored);
  if (z_loss_ != 0) result.z_loss = squared_lse / static_cast<double>(batch.scored);
  result.routing = recorder.stats();
  const auto& shape = model_->scheme().shape;
  result.expert_choices =
      static_cast<std::int64_t>(batch.inputs.size() * result.routing.blocks.size()) *
      shape.experts.active;
  return result;
}

/// Updates the router bias of auxiliary-loss-free load balancing. For expert e with load n_e:
///
///   bias_e += bias_rate * sign(mean(n) - n_e)
///
/// \source Wang et al. 2024, arXiv:2408.15664, algorithm 1
void Learner::update_expert_biases(const probe::RoutingStats& stats) {
  if (experts_.bias_rate == 0) return;
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < stats.blocks.size(); ++i) {
    auto bias =
        parameters_->find_state(text("blocks.", stats.blocks[i] - 1, ".feed_forward.router.bias"));
    const auto tokens = at::tensor(stats.tokens[i], at::kLong).to(bias.options());
    bias.add_((tokens.mean() - tokens).sign(), experts_.bias_rate);
  }
}

}  // namespace evenkeel::train
