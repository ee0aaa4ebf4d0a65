// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "evenkeel/cli/verb.h"
#include "evenkeel/comm/group.h"

namespace evenkeel::cli {

/// --ranks and --restarts.
struct RankOptions {
  int ranks = 0;  // 0: not given
  int restarts = 0;
};

/// Adds --ranks.
void add_ranks(const Command& command, RankOptions& options);
/// Adds --restarts.
void add_restarts(const Command& command, RankOptions& options);

/// Checks that --device and --ranks fit together, before any rank starts.
/// \throws Error of ops::parse_device(); (usage) if ranks would share a GPU that is not named
void check_devices(const CommonOptions& common, const RankOptions& options);

/// Starts the ranks of --ranks, and waits for them. Checks the configuration before, so that an
/// error is printed once.
/// \return the exit code; nullopt: this process is a rank, or trains alone
/// \throws Error (usage) for a configuration error, or if a launcher already started this process
std::optional<Exit> launch_ranks(const CommonOptions& common, const RankOptions& options);

/// Forms the group of the ranks that a launcher started; one rank without a launcher.
/// \throws Error of comm::place_of(), config::resolve() and comm::join()
comm::Group join_ranks(const CommonOptions& common);

/// Runs the training of a rank. An Error of one rank ends all of them, and is printed once.
Exit run_rank(comm::Group& group, const std::function<Exit()>& body);

}  // namespace evenkeel::cli
