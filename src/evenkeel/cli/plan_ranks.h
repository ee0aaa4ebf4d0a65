// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"

namespace evenkeel::cli {

/// Options of `plan --ranks`.
struct RankPlanOptions {
  int ranks = 0;        // --ranks; 0: not given
  int hosts = 0;        // --hosts; 0: as many as the ranks fill
  std::string machine;  // --machine: a built-in name, or a TOML file; "": kDefaultMachine
};

inline constexpr const char* kDefaultMachine = "h200";

/// Prints memory, exchange and time of a step on many ranks, for each value of distributed.shard,
/// and the largest number of ranks with 90 % efficiency.
/// \param json  as one JSON object
/// \throws Error (usage) for a machine that does not exist, or ranks that do not fit; (io) for a
///         file that cannot be read
Exit print_rank_plan(const config::Config& config, const RankPlanOptions& options, bool json);

}  // namespace evenkeel::cli
