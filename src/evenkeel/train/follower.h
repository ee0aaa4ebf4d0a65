// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "evenkeel/comm/group.h"
#include "evenkeel/config/config.h"
#include "evenkeel/train/checkpoint_saver.h"
#include "evenkeel/train/evaluator.h"
#include "evenkeel/train/open_run.h"
#include "evenkeel/train/rank_commands.h"
#include "evenkeel/train/run_setup.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

/// What rank 0 sends to the other ranks at the start of a run.
struct RunStart {
  std::filesystem::path folder;  // the run folder
  std::string config;            // its configuration as TOML
  std::int64_t step = -1;        // of the checkpoint to resume from; -1: a new run
  std::filesystem::path from;    // the checkpoint with the first weights; empty: none
};

/// The start of the run that rank 0 opened.
RunStart start_of(const OpenRun& open);

/// Sends the start from rank 0 to all ranks. All ranks call it.
/// \param start  of rank 0; not used on the other ranks
RunStart broadcast_start(comm::Group& group, const RunStart& start);

/// A rank other than 0: does what rank 0 commands, and writes nothing but its pieces of
/// checkpoints.
class Follower {
 public:
  /// Builds the model, and loads the checkpoint.
  /// \param group  must outlive the Follower
  /// \throws Error as Run does
  Follower(const RunStart& start, comm::Group& group);

  /// Follows rank 0 until the end of the run.
  void follow();

 private:
  void load(const RunStart& start);
  void step();

  comm::Group& group_;
  config::Config config_;
  RunSetup setup_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Evaluator> evaluator_;
  RankCommands commands_;
  CheckpointSaver saver_;
};

}  // namespace evenkeel::train
