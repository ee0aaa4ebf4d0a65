// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "evenkeel/comm/group.h"

namespace evenkeel::train {

/// What all ranks do next.
enum class RankCommand {
  wait,             // for the next command
  step,             // train a step
  evaluate,         // the validation texts
  evaluate_tasks,   // the tasks of evaluate.tasks
  save,             // write a checkpoint
  save_background,  // begin to write a checkpoint
  finish_save,      // complete it
  end,              // the run has ended
};

/// The main loop of a run on several ranks: rank 0 decides, and all ranks do it together. With
/// each command the signals of all ranks travel to rank 0. On one rank nothing is sent.
class RankCommands {
 public:
  /// \param group  must outlive the RankCommands
  explicit RankCommands(comm::Group& group) : group_(group) {}

  /// Rank 0: makes all ranks do something. Each other rank calls receive().
  /// \param is_written  CheckpointSaver::is_written() of this rank
  void send(RankCommand command, bool is_written = true);

  /// Rank 0: sends `wait` if no command was sent for ten seconds, so that no rank waits too long
  /// for this one.
  void keep_waiting();

  /// A rank other than 0: the next command. \param is_written  as in send()
  RankCommand receive(bool is_written) { return exchange(RankCommand::wait, is_written); }

  /// Rank 0: true after SIGINT, SIGTERM or SIGHUP of any rank.
  bool stop_wanted() const;

  /// The step of the newest checkpoint that rank 0 knows, -1: none. Rank 0 sets it; it travels with
  /// each command.
  void set_checkpoint(std::int64_t step) { checkpoint_ = step; }
  std::int64_t checkpoint() const { return checkpoint_; }

  /// Rank 0: true if no rank was writing a checkpoint at the last command.
  bool are_written() const { return are_written_; }

  /// Rank 0: true if SIGUSR1 arrived at any rank since the last call. A signal of another rank that
  /// arrives together with a command to save counts for that checkpoint.
  bool save_wanted();

 private:
  RankCommand exchange(RankCommand command, bool is_written);

  comm::Group& group_;
  bool stops_ = false, saves_ = false, are_written_ = true;
  std::int64_t checkpoint_ = -1;
  std::chrono::steady_clock::time_point sent_ = std::chrono::steady_clock::now();
};

/// The time of one step on all ranks.
struct RankTimes {
  double exchange = 0;           // seconds that this rank spent in exchanges
  std::int64_t slowest = 0;      // the rank that computed longest
  double waited = 0;             // seconds between the fastest rank and the slowest one
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
