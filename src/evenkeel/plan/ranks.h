// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "evenkeel/config/config.h"
#include "evenkeel/plan/hardware.h"
#include "evenkeel/plan/plan.h"

/// Memory and time of a step on many ranks, computed from a configuration and a machine file alone.
namespace evenkeel::plan {

/// distributed.shard: what ranks have a part of, instead of a copy.
enum class Shard {
  none,       // nothing
  optimizer,  // ZeRO-1: master weights and moments
  gradients,  // ZeRO-2: sums of gradients, too
};
inline constexpr std::array kShards = {Shard::none, Shard::optimizer, Shard::gradients};

/// Bytes of one rank by purpose.
struct RankMemory {
  double weights = 0;      // of the forward pass
  double optimizer = 0;    // moments; with bfloat16 also the master weights
  double gradients = 0;    // sums of gradients
  double buffers = 0;      // gradients that travel
  double activations = 0;  // saved for the backward pass
  double temporary = 0;    // nn::Footprint::temporary
  double program = 0;      // Hardware::program_bytes
  double total() const {
    return weights + optimizer + gradients + buffers + activations + temporary + program;
  }
};

/// Seconds of one optimizer step.
struct RankStep {
  double compute = 0;         // forward and backward passes, and what is recomputed
  double reduce_scatter = 0;  // of gradients, in all rounds
  double all_gather = 0;      // of updated weights; shard = none: of summed gradients
  double exposed = 0;         // of both exchanges, not hidden by computation
  double update = 0;          // of the optimizer, and the sum over ranks
  double total() const { return compute + exposed + update; }
  /// Share of the step in which the ranks compute.
  double efficiency() const { return compute / total(); }
};

/// The plan of one value of distributed.shard.
struct ShardPlan {
  RankMemory memory;
  RankStep step;
  double reduce_scatter_bytes = 0, all_gather_bytes = 0;  // that a rank sends in a step
  std::int64_t max_micro_batch = 0;  // sequences of a forward pass that fit; 0: none
  bool fits = false;                 // memory.total() <= memory_share * memory_bytes
};

/// The plan of a configuration on many ranks.
struct RankPlan {
  Plan plan;  // of one rank: counts, FLOPs and steps are those of the whole run
  std::int64_t ranks = 1, hosts = 1, gradient_shards = 1;
  std::int64_t sequences = 0;         // of a step, per rank
  double mfu_alone = 0;               // of one rank without an exchange
  double step_tokens = 0;             // of all ranks
  std::array<ShardPlan, 3> by_shard;  // in the order of kShards

  /// Model FLOPs utilization: without those of recomputation.
  double mfu(const ShardPlan& shard) const;
  const ShardPlan& at(Shard shard) const { return by_shard.at(static_cast<std::size_t>(shard)); }
};

/// The plan of R ranks on H hosts. A pure function, except that the chunks of the loss are those of
/// ops::compute_device().
///
///   exchange(n) = max(a, b) + min(a, b) / buckets       seconds of a reduce-scatter or all-gather
///     a = n (L - 1) / L / within_host + latency         within hosts of L = R / H ranks
///     b = n / L (H - 1) / H / between_hosts + latency   between equal ranks of hosts
///
/// The backward pass of the last micro-batch hides the reduce-scatter, the forward pass of the
/// first one the all-gather, each to the share `overlap`.
/// \param ranks  R, at least 1
/// \param hosts  H; 0: R / ranks_per_host, at least 1
/// \param vocabulary  size of the tokenizer's vocabulary
/// \throws Error (usage) if R ranks cannot share the hosts, the batch or the gradient shards
RankPlan rank_plan(const config::Config& config, const Hardware& hardware, std::int64_t vocabulary,
                   std::int64_t ranks, std::int64_t hosts = 0);

/// The largest number of ranks with at least this efficiency: divisors of train.batch that fill
/// their hosts, and can share train.gradient_shards. At least 1.
std::int64_t max_efficient_ranks(const config::Config& config, const Hardware& hardware,
                                 std::int64_t vocabulary, Shard shard, double efficiency);

}  // namespace evenkeel::plan
