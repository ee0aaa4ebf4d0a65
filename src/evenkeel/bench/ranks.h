// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/bench/timing.h"
#include "evenkeel/comm/group.h"
#include "evenkeel/config/config.h"
#include "evenkeel/train/machine.h"

/// What several ranks exchange, and how much faster they train. All ranks call these functions; the
/// time of a call is that of the slowest rank.
namespace evenkeel::bench {

/// The exchange of one buffer of float32.
struct ExchangeTimes {
  std::int64_t bytes = 0;  // of the buffer
  Timing reduce_scatter, all_gather;
  Timing exact;              // both, one after the other
  Timing engine_all_reduce;  // the ring of the engine, which moves as many bytes as `exact`
  Timing engine_reduce_scatter;
  Ratio exact_over_engine;  // exact / engine_all_reduce

  /// The bytes that a rank sends in a reduce_scatter or all_gather, per second.
  double rate(const Timing& timing, int ranks) const;
};

/// Times the exchange of buffers, in turn.
/// \param sizes  bytes of the buffers, each at least 4 * ranks
std::vector<ExchangeTimes> time_exchanges(comm::Group& group,
                                          const std::vector<std::int64_t>& sizes, int rounds);

/// Training steps of one rank that has all threads, and of all ranks that share them.
struct RankSteps {
  train::Machine machine;  // of a rank
  std::string scheme;
  std::int64_t tokens = 0;  // per step
  double flops = 0;         // per step
  double gemm_rate = 0;     // FLOP/s of the model's fastest GEMM on a rank, while all ranks compute
  double memory_rate = 0;   // bytes/s that a rank reads and writes in a copy, while all ranks copy
  Timing alone, together;
  Ratio together_over_alone;
};

/// Times steps in turn. Both arms have the same gradient shards, so their results are equal.
/// \throws Error (usage, exit code 64) for an invalid configuration
RankSteps time_rank_steps(comm::Group& group, const config::Sources& sources, int rounds);

/// The file of `plan --machine`.
std::string machine_file(const ExchangeTimes& exchange, const RankSteps& steps,
                         const comm::Group& group);

}  // namespace evenkeel::bench
