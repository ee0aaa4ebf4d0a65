// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "evenkeel/comm/group.h"

namespace evenkeel::train {

/// What all ranks do next.
enum class RankCommand { wait, step, evaluate, save, end };

/// The main loop of a training on several ranks: rank 0 decides, and all ranks do it together. With
/// each command the signals of all ranks travel to rank 0. On one rank nothing is sent.
class RankCommands {
 public:
  /// \param group  must outlive the RankCommands
  explicit RankCommands(comm::Group& group) : group_(group) {}

  /// Rank 0: makes all ranks do something. Each other rank calls receive().
  void send(RankCommand command);

  /// Rank 0: sends `wait` if no command was sent for ten seconds, so that no rank waits too long
  /// for this one.
  void keep_waiting();

  /// A rank other than 0: the next command.
  RankCommand receive() { return exchange(RankCommand::wait); }

  /// Rank 0: true after SIGINT or SIGTERM of any rank.
  bool stop_wanted() const;

  /// Rank 0: true if SIGUSR1 arrived at any rank since the last call.
  bool save_wanted();

 private:
  RankCommand exchange(RankCommand command);

  comm::Group& group_;
  bool stops_ = false, saves_ = false;
  std::chrono::steady_clock::time_point sent_ = std::chrono::steady_clock::now();
};

/// The time of one step on all ranks.
struct RankTimes {
  double exchange = 0;       // seconds that this rank spent in exchanges
  std::int64_t slowest = 0;  // the rank that computed longest
  double waited = 0;         // seconds between the fastest rank and the slowest one
  std::vector<double> computed;  // seconds that each rank computed
};

/// Measures a step of this rank.
class RankTimer {
 public:
  explicit RankTimer(comm::Group& group);

  /// The times since the construction. All ranks call it.
  RankTimes finish();

 private:
  comm::Group& group_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  double exchanged_;
};

}  // namespace evenkeel::train
