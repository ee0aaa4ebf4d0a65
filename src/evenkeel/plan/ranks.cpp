// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/ranks.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/footprint.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/nn/shard_layout.h"
#include "evenkeel/plan/batch_size.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/model_parameters.h"

namespace evenkeel::plan {

namespace {

constexpr double kForwardShare = 1.0 / 3;  // of the time of a micro-batch
constexpr double kRecomputed = 4.0 / 3;    // time with model.recompute = "block", over that without
constexpr double kUpdateBytes = 30;        // AdamW reads and writes, per parameter
constexpr double kSumBytes = 4;            // the sum over ranks reads, per parameter
constexpr std::int64_t kMaxHops = 16;      // messages between hosts of one bucket

/// R ranks on hosts of equal size.
struct RankGrid {
  std::int64_t ranks = 1, hosts = 1;
  std::int64_t per_host() const { return ranks / hosts; }
};

/// Bytes per value.
struct ValueBytes {
  double compute = 4;  // of weights in the forward pass
  double wide = 4;     // of master weights, moments and gradients
  bool has_copies() const { return compute < wide; }
};

RankGrid rank_grid(const Hardware& hardware, std::int64_t ranks, std::int64_t hosts) {
  if (ranks < 1) throw Error(Exit::usage, text("--ranks must be at least 1, but is ", ranks));
  const auto most = hardware.ranks_per_host;
  if (hosts == 0 && ranks > most && ranks % most != 0) {
    throw Error(Exit::usage, text("--ranks ", ranks, " must fill hosts of ", most, " ranks (",
                                  hardware.name, "), but does not; name --hosts"));
  }
  const RankGrid grid{.ranks = ranks,
                      .hosts = hosts > 0 ? hosts : std::max<std::int64_t>(1, ranks / most)};
  if (ranks % grid.hosts != 0 || grid.per_host() > most) {
    throw Error(Exit::usage, text("--hosts ", grid.hosts, " must have ", ranks,
                                  " ranks in equal numbers of at most ", most, " (", hardware.name,
                                  "), but cannot; name other numbers"));
  }
  return grid;
}

/// Seconds of a reduce-scatter or an all-gather of `bytes` bytes, which the buckets pass in two
/// levels. The bytes are those of a ring.
double exchange_seconds(const Hardware& hardware, const RankGrid& grid, double bytes) {
  if (grid.ranks == 1) return 0;
  const auto inside = static_cast<double>(grid.per_host());
  const auto hosts = static_cast<double>(grid.hosts);
  const double buckets = std::max(1.0, bytes / hardware.bucket_bytes);
  double within = bytes * (inside - 1) / inside / hardware.within_host_bandwidth;
  double between = bytes / inside * (hosts - 1) / hosts / hardware.between_hosts_bandwidth;
  if (grid.per_host() > 1) within += buckets * hardware.latency;
  const auto hops = static_cast<double>(std::min(grid.hosts - 1, kMaxHops));
  between += buckets * hardware.latency * hops;
  return std::max(within, between) + std::min(within, between) / buckets;
}

nn::Precision precision_of(const config::Config& config, const Hardware& hardware) {
  const auto& name = config.train.precision == "auto" ? hardware.precision : config.train.precision;
  return name == "bfloat16"  ? nn::Precision::bfloat16
         : name == "float64" ? nn::Precision::float64
                             : nn::Precision::float32;
}

ValueBytes value_bytes(nn::Precision precision) {
  return {.compute = static_cast<double>(c10::elementSize(nn::compute_dtype(precision))),
          .wide = static_cast<double>(c10::elementSize(nn::master_dtype(precision)))};
}

double recompute_factor(const Plan& plan) {
  return plan.recompute == "block" ? kRecomputed : 1;
}

/// \param step  memory of a step, whose activations depend on the micro-batch
RankMemory memory_of(const RankPlan& all, const nn::Footprint& step, const Hardware& hardware,
                     const ValueBytes& bytes, Shard shard) {
  const auto parameters = static_cast<double>(all.plan.counts.total);
  const auto ranks = static_cast<double>(all.ranks);
  const auto own_shards = static_cast<std::uint64_t>(all.gradient_shards / all.ranks);
  const double states = (bytes.has_copies() ? 3 : 2) * bytes.wide * parameters;
  const double sums = bytes.wide * parameters * static_cast<double>(std::bit_width(own_shards));
  const double bucket =
      all.ranks > 1 ? std::min(hardware.bucket_bytes, bytes.wide * parameters) : 0;
  RankMemory out{.weights = bytes.compute * parameters,
                 .optimizer = shard == Shard::none ? states : states / ranks,
                 .gradients = shard == Shard::gradients ? sums / ranks + 2 * bucket : sums,
                 .buffers = 2 * bucket,
                 .activations = step.activations,
                 .temporary = step.temporary,
                 .program = hardware.program_bytes};
  return out;
}

/// The largest micro-batch that fits, from 0 to the sequences of a gradient shard.
std::int64_t max_micro_batch(const RankPlan& all, const config::Config& config,
                             const Hardware& hardware, Shard shard) {
  const auto precision = precision_of(config, hardware);
  const auto bytes = value_bytes(precision);
  const auto rows = padded_vocabulary_size(config.model, all.plan.scheme.shape.vocabulary);
  const double available = hardware.memory_share * hardware.memory_bytes;
  auto tried = config;
  tried.model.recompute = all.plan.recompute;
  const auto fits = [&](std::int64_t sequences) {
    tried.train.micro_batch = sequences;
    const auto step = footprint_of(tried, all.plan.scheme, rows, all.plan.counts, precision);
    return memory_of(all, step, hardware, bytes, shard).total() <= available;
  };
  std::int64_t fitting = 0, beyond = shard_size(config) + 1;
  while (beyond - fitting > 1) {
    const auto middle = fitting + (beyond - fitting) / 2;
    (fits(middle) ? fitting : beyond) = middle;
  }
  return fitting;
}

/// Sets bytes and seconds of both exchanges, and what computation does not hide.
void set_exchange(ShardPlan& out, const RankPlan& all, const Hardware& hardware,
                  const RankGrid& grid, const ValueBytes& bytes, Shard shard) {
  const auto parameters = static_cast<double>(all.plan.counts.total);
  const double sent = static_cast<double>(all.ranks - 1) / static_cast<double>(all.ranks);
  const auto own_shards = all.gradient_shards / all.ranks;
  const double rounds = shard == Shard::gradients ? static_cast<double>(own_shards) : 1;
  const double gradients = bytes.wide * parameters;
  const double gathered = (shard == Shard::none ? bytes.wide : bytes.compute) * parameters;
  auto& step = out.step;
  out.reduce_scatter_bytes = rounds * gradients * sent;
  out.all_gather_bytes = gathered * sent;
  const double round = exchange_seconds(hardware, grid, gradients);
  step.reduce_scatter = rounds * round;
  step.all_gather = exchange_seconds(hardware, grid, gathered);
  const double micro_batches =
      static_cast<double>(all.sequences) / static_cast<double>(all.plan.micro_batch_size);
  const double hiding = hardware.overlap * step.compute / micro_batches;
  const double forward_share = kForwardShare / recompute_factor(all.plan);
  const double hidden_backward = hiding * (1 - forward_share);
  if (shard == Shard::none) {  // the update needs the sums of all gradients
    step.exposed = std::max(0.0, round + step.all_gather - hidden_backward);
    return;
  }
  step.exposed = rounds * std::max(0.0, round - hidden_backward) +
                 std::max(0.0, step.all_gather - hiding * forward_share);
}

ShardPlan shard_plan(const RankPlan& all, const config::Config& config, const Hardware& hardware,
                     const RankGrid& grid, Shard shard) {
  const auto bytes = value_bytes(precision_of(config, hardware));
  const auto parameters = static_cast<double>(all.plan.counts.total);
  ShardPlan out;
  out.memory = memory_of(all, all.plan.memory, hardware, bytes, shard);
  const double available = hardware.memory_share * hardware.memory_bytes;
  out.fits = out.memory.total() <= available;
  out.max_micro_batch = max_micro_batch(all, config, hardware, shard);

  const double flops = all.step_tokens * all.plan.flops_per_token;
  out.step.compute = recompute_factor(all.plan) * flops / static_cast<double>(all.ranks) /
                     (hardware.peak_flops * all.mfu_alone);
  const double updated =
      shard == Shard::none ? parameters : parameters / static_cast<double>(all.ranks);
  out.step.update = (kUpdateBytes + kSumBytes) * updated / hardware.memory_bandwidth;
  if (all.ranks > 1) set_exchange(out, all, hardware, grid, bytes, shard);
  return out;
}

}  // namespace

double RankPlan::mfu(const ShardPlan& shard) const {
  return mfu_alone * shard.step.efficiency() / recompute_factor(plan);
}

RankPlan rank_plan(const config::Config& config, const Hardware& hardware, std::int64_t vocabulary,
                   std::int64_t ranks, std::int64_t hosts) {
  const auto grid = rank_grid(hardware, ranks, hosts);
  RankPlan out{.ranks = ranks,
               .hosts = grid.hosts,
               .gradient_shards =
                   nn::shards_of_ranks(config.train.gradient_shards, ranks, config.train.batch),
               .sequences = config.train.batch / ranks,
               .mfu_alone = hardware.mfu_alone(config.preset)};
  auto sharded = config;
  sharded.train.gradient_shards = out.gradient_shards;
  if (sharded.train.precision == "auto") sharded.train.precision = hardware.precision;
  if (hardware.is_gpu && config.train.micro_batch == 0) {
    sharded.train.micro_batch = gpu_micro_batch_size(sharded, vocabulary, hardware.memory_bytes);
  }
  out.plan = plan_of(sharded, {.precision = precision_of(config, hardware)}, vocabulary);
  out.step_tokens = static_cast<double>(config.train.batch * config.model.context);
  for (const auto shard : kShards) {
    out.by_shard.at(static_cast<std::size_t>(shard)) =
        shard_plan(out, sharded, hardware, grid, shard);
  }
  return out;
}

std::int64_t max_efficient_ranks(const config::Config& config, const Hardware& hardware,
                                 std::int64_t vocabulary, Shard shard, double efficiency) {
  const auto batch = config.train.batch;
  const auto configured = config.train.gradient_shards;
  for (auto ranks = batch; ranks > 1; --ranks) {
    const auto most = hardware.ranks_per_host;
    const bool fills_hosts = ranks <= most || ranks % most == 0;
    const auto shards = configured > 0 ? configured : ranks;
    if (batch % ranks != 0 || !fills_hosts || !nn::can_share(shards, ranks)) continue;
    const auto plan = rank_plan(config, hardware, vocabulary, ranks);
    if (plan.at(shard).step.efficiency() >= efficiency) return ranks;
  }
  return 1;
}

}  // namespace evenkeel::plan
