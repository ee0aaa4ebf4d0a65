// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/ranks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/system_memory.h"
#include "evenkeel/bench/buffers.h"
#include "evenkeel/bench/gemm_rate.h"
#include "evenkeel/config/quote.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/plan.h"
#include "evenkeel/train/rank_checks.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::bench {

namespace {

constexpr int kWarmUps = 2;  // rounds that are not recorded

/// The largest, or the least, of the values of all ranks.
double largest_of(comm::Group& group, double mine) {
  return group.all_gather_scalars(at::full({1}, mine, at::kDouble)).max().item<double>();
}
double least_of(comm::Group& group, double mine) {
  return -largest_of(group, -mine);
}

/// Times the arms in turn on all ranks. Every second round has the reverse order.
std::vector<Timing> timings_of_ranks(comm::Group& group, const std::vector<Arm>& arms, int rounds) {
  std::vector<Timing> timings;
  timings.reserve(arms.size());
  for (const auto& arm : arms) timings.push_back({arm.name, {}});
  for (int round = -kWarmUps; round < rounds; ++round) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const auto which = round % 2 == 0 ? i : arms.size() - 1 - i;
      group.barrier("the next measurement");
      const auto start = std::chrono::steady_clock::now();
      arms[which].run();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      const double slowest = largest_of(group, seconds.count());
      if (round >= 0) timings[which].seconds.push_back(slowest);
    }
  }
  return timings;
}

/// Equal pieces of all ranks.
std::vector<std::int64_t> equal_pieces(int ranks, std::int64_t piece) {
  std::vector<std::int64_t> bounds;
  for (int rank = 0; rank <= ranks; ++rank) bounds.push_back(rank * piece);
  return bounds;
}

ExchangeTimes time_exchange(comm::Group& group, std::int64_t bytes, int rounds) {
  const auto piece = std::max<std::int64_t>(1, bytes / 4 / group.ranks());
  const auto bounds = equal_pieces(group.ranks(), piece);
  const auto whole = at::zeros({bounds.back()}, at::kFloat);
  const auto part = whole.narrow(0, bounds[static_cast<std::size_t>(group.rank())], piece);
  const auto other = at::zeros({piece}, at::kFloat);
  const auto timings = timings_of_ranks(
      group,
      {{"reduce_scatter", [&] { group.reduce_scatter(whole, bounds, part); }},
       {"all_gather", [&] { group.all_gather(whole, bounds); }},
       {"exact",
        [&] {
          group.reduce_scatter(whole, bounds, part);
          group.all_gather(whole, bounds);
        }},
       {"engine_all_reduce", [&] { group.engine_all_reduce(whole); }},
       {"engine_reduce_scatter", [&] { group.engine_reduce_scatter(whole, other); }}},
      rounds);
  return {.bytes = 4 * bounds.back(),
          .reduce_scatter = timings[0],
          .all_gather = timings[1],
          .exact = timings[2],
          .engine_all_reduce = timings[3],
          .engine_reduce_scatter = timings[4],
          .exact_over_engine = ratio(timings[2], timings[3])};
}

config::Config config_of_ranks(comm::Group& group, const config::Sources& sources) {
  auto config = config::resolve(sources);
  train::resolve_shards(config, group.ranks());
  train::check_ranks(config, group.ranks());
  train::check_scheme_on_ranks(config, group);
  return config;
}

/// The trainer of rank 0 without the other ranks; nullptr elsewhere.
/// \param nobody  a group of one, which must outlive the trainer
std::unique_ptr<train::Trainer> trainer_alone(const comm::Group& group, comm::Group& nobody,
                                              const config::Config& config,
                                              const norm::Shape& shape, nn::Precision precision,
                                              const data::Corpora& corpora) {
  if (!group.is_first()) return nullptr;
  return std::make_unique<train::Trainer>(config, shape, precision, corpora,
                                          train::data_parallel_of(config, nobody));
}

/// Bytes per second of copies of a buffer that no cache holds, while all ranks copy.
double copy_rate(comm::Group& group) {
  constexpr int kRounds = 5;
  const auto timing = timings_of_ranks(group, {{"copy", device_copy()}}, kRounds).front();
  return 2.0 * kCopied / timing.median();
}

}  // namespace

double ExchangeTimes::rate(const Timing& timing, int ranks) const {
  return static_cast<double>(bytes) * (ranks - 1) / ranks / timing.median();
}

std::vector<ExchangeTimes> time_exchanges(comm::Group& group,
                                          const std::vector<std::int64_t>& sizes, int rounds) {
  const at::NoGradGuard no_grad;
  std::vector<ExchangeTimes> all;
  all.reserve(sizes.size());
  for (const auto bytes : sizes) all.push_back(time_exchange(group, bytes, rounds));
  return all;
}

RankSteps time_rank_steps(comm::Group& group, const config::Sources& sources, int rounds) {
  auto config = config_of_ranks(group, sources);
  RankSteps result;
  result.scheme = config.scheme.name;
  const auto on_cores = static_cast<int>(group.placement().ranks_on_cores);
  result.machine = train::configure_machine(config.train, group.placement().ranks_on_cores);
  const auto corpora =
      data::load_corpora(config.data, config.model.context, config.model.vocabulary);
  const auto vocabulary = corpora.encoding->vocabulary();
  const auto shape = config::shape_of(config, vocabulary);
  const auto precision = result.machine.precision;
  result.tokens = config.train.batch * config.model.context;
  train::share_memory(result.machine, group);
  const auto plan = plan::plan_of(config, result.machine, vocabulary);
  config = plan::with_recompute(std::move(config), plan);
  result.flops = plan.flops_per_token * static_cast<double>(result.tokens);

  comm::Group nobody;
  train::Trainer together(config, shape, precision, corpora,
                          train::data_parallel_of(config, group));
  const auto alone = trainer_alone(group, nobody, config, shape, precision, corpora);
  const auto gemms = gemm_arms(shape, result.tokens / group.ranks(), nn::compute_dtype(precision));
  group.barrier("the matrix products");
  result.gemm_rate = least_of(group, best_gemm_rate(gemms));
  result.memory_rate = copy_rate(group);
  const auto step_alone = [&] {
    if (!alone) return;
    at::set_num_threads(result.machine.threads * on_cores);
    alone->step();
    at::set_num_threads(result.machine.threads);
  };
  const auto timings = timings_of_ranks(
      group, {{"alone", step_alone}, {"together", [&] { together.step(); }}}, rounds);
  result.alone = timings[0];
  result.together = timings[1];
  result.together_over_alone = ratio(timings[1], timings[0]);
  return result;
}

std::string machine_file(const ExchangeTimes& exchange, const RankSteps& steps,
                         const comm::Group& group) {
  const int ranks = group.ranks(), local_ranks = group.placement().local_ranks;
  const double rate =
      (exchange.rate(exchange.reduce_scatter, ranks) + exchange.rate(exchange.all_gather, ranks)) /
      2;
  // What a rank computes without the exchange: its share of the step that one process makes with
  // the cores of all ranks that share them.
  const auto shares = static_cast<double>(group.placement().ranks_on_cores);
  const double per_rank = steps.flops / steps.alone.median() / shares;
  const auto precision =
      config::in_quotes(ops::dtype_name(nn::compute_dtype(steps.machine.precision)));
  return text("# Written by `evenkeel bench ranks`: ", ranks, " ranks, ", group.placement().network,
              ". For `evenkeel plan --ranks N --machine`.\n",  //
              "title = ", config::in_quotes(steps.machine.description), "\n",
              "precision = ", precision, "\n", "ranks_per_host = ", local_ranks, "\n",
              "peak_flops = ", shortest(steps.gemm_rate), "\n",
              "mfu = ", shortest(std::min(1.0, per_rank / steps.gemm_rate)), "\n",
              "memory_bytes = ", static_cast<std::int64_t>(total_bytes() / local_ranks), "\n",
              "memory_bandwidth = ", shortest(steps.memory_rate), "\n",
              "within_host_bandwidth = ", shortest(rate), "\n",
              "between_hosts_bandwidth = ", shortest(rate), "\n",
              "bucket_bytes = 4e6\noverlap = 0.0\nprogram_bytes = 0.2e9\n");
}

}  // namespace evenkeel::bench
