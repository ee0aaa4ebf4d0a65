// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "evenkeel/comm/group.h"
#include "evenkeel/comm/stragglers.h"
#include "evenkeel/train/checkpoint_saver.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/open_run.h"
#include "evenkeel/train/rank_commands.h"
#include "evenkeel/train/recorder.h"
#include "evenkeel/train/run_provenance.h"
#include "evenkeel/train/run_setup.h"
#include "evenkeel/train/run_tokenizer.h"

namespace evenkeel::train {

class Evaluator;
class Trainer;
struct Progress;
struct StepResult;

/// One training run in a run folder. `train()` is its training loop. With several ranks, rank 0 has
/// the Run, and every other rank has a Follower, which does what the Run commands.
///
/// | part          | work                                                  |
/// | ------------- | ----------------------------------------------------- |
/// | Trainer       | model, optimizer, one step, content of a checkpoint   |
/// | Evaluator     | validation loss                                       |
/// | Recorder      | metrics, health events, profiles, status, console     |
/// | RunProvenance | run.toml, provenance.json, scheme.txt, MANIFEST.json  |
/// | RunTokenizer  | the copy of the tokenizer                             |
class Run {
 public:
  /// Builds the model and prints the summary; writes no file.
  /// \param console, group  must outlive the Run
  /// \throws Error of set_up_run() and check_memory()
  Run(const Request& request, OpenRun open, Console& console, comm::Group& group);
  Run(const Run&) = delete;  // members refer to other members
  Run& operator=(const Run&) = delete;
  ~Run();

  /// Loads the newest checkpoint. Without one, saves the initial weights as a checkpoint.
  /// \throws Error (no_checkpoint, exit code 77) if there are records but no usable checkpoint, or
  ///         if train.from has none; (differs, 78) as in RunProvenance::resume()
  void start();

  /// True after the last step.
  bool finished() const;

  /// True after a signal that asks to stop, at this rank or another one.
  bool stop_wanted() const { return commands_.stop_wanted(); }

  /// One optimizer step, with its records, and an evaluation and a checkpoint if these are due.
  /// \throws Error (io, exit code 74) if the run folder was moved, removed or replaced; a moved
  ///         folder gets a checkpoint first
  /// \throws Error (diverged, exit code 76) when the budget of skipped steps is used up
  void step();

  /// Saves a checkpoint after the last step, unless it has one. On a full disk, waits for space
  /// until a signal asks to stop.
  /// \throws Error (io, exit code 74)
  void save_last();

  /// Ends the run: evaluates the current weights unless that was done; writes the sample,
  /// status.json and the report. Waits for space as save_last() does. Ends the other ranks, too;
  /// if the run diverged, the Error below, or that of step(), ends them.
  /// \param state  for status.json: "stopped", "finished" or "diverged"
  /// \throws Error (io, exit code 74)
  /// \throws Error (diverged, exit code 76) if the logits of these weights are not finite
  void finish(const std::string& state);

  const std::filesystem::path& folder() const { return open_.folder; }
  const Progress& progress() const;

 private:
  using Clock = std::chrono::steady_clock;

  void resume(const store::VerifiedCheckpoint& checkpoint);
  void write_provenance();
  void stop_if_moved();
  void save(bool required);
  void begin_save();
  void finish_save();
  void set_saved(std::int64_t step, const std::string& left);
  store::CheckpointContent checkpoint_content();
  void report_failed_save(std::int64_t step, const Error& error);
  void wait_for_space(const std::function<void()>& write);
  void load_initial_weights();
  void stop_if_diverged(const StepResult& result);
  void evaluate();
  void evaluate_tasks();

  Request request_;
  OpenRun open_;
  Console& console_;
  comm::Group& group_;
  RunSetup setup_;
  RunProvenance provenance_;
  RunTokenizer tokenizer_;
  Recorder recorder_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Evaluator> evaluator_;
  RankCommands commands_;
  CheckpointSaver saver_;
  comm::Stragglers stragglers_;
  bool is_finite_ = true;                        // loss and gradient of the last step
  std::int64_t saved_at_ = -1;                   // step of the newest checkpoint
  std::string reported_left_;                    // why an older checkpoint could not be removed
  std::int64_t saving_ = -1;                     // step of the checkpoint that a thread writes
  Clock::time_point saved_time_ = Clock::now();  // of the last attempt to save
};

}  // namespace evenkeel::train
