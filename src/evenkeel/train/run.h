// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "evenkeel/train/console.h"
#include "evenkeel/train/open_run.h"
#include "evenkeel/train/recorder.h"
#include "evenkeel/train/run_provenance.h"
#include "evenkeel/train/run_setup.h"

namespace evenkeel::train {

class Evaluator;
class Trainer;
struct Progress;
struct StepResult;

/// A run folder that is being trained in. `train()` drives it.
///
/// | part          | work                                                  |
/// | ------------- | ----------------------------------------------------- |
/// | Trainer       | model, optimizer, one step, content of a checkpoint   |
/// | Evaluator     | validation loss                                       |
/// | Recorder      | metrics, health events, profiles, status, console     |
/// | RunProvenance | run.toml, provenance.json, scheme.txt, MANIFEST.json  |
class Run {
 public:
  /// Builds the model and prints the summary; writes nothing yet.
  /// \param console  must outlive it
  /// \throws Error as set_up_run() and check_memory() do
  Run(const Request& request, OpenRun open, Console& console);
  Run(const Run&) = delete;  // its parts refer to its members
  Run& operator=(const Run&) = delete;
  ~Run();

  /// Loads the newest checkpoint, if there is one; else saves the initial weights.
  /// \throws Error (no_checkpoint) if there are records and no usable checkpoint, or train.from has
  ///         none; Error (differs) as RunProvenance::resume does
  void start();

  /// Whether all steps are taken.
  bool finished() const;

  /// One optimizer step with its records, evaluation and checkpoint, as far as they are due.
  /// \throws Error (diverged) when the budget of skipped steps is spent
  void step();

  /// Saves a checkpoint unless this step has one. A full disk is a warning unless `required`.
  /// \throws Error (io) if `required`
  void save(bool required);

  /// Evaluates the newest weights unless that is done; writes sample, status and report.
  /// \param state  of status.json: "stopped", "finished" or "diverged"
  /// \throws Error (diverged) if the weights give no finite logits
  void finish(const std::string& state);

  const std::filesystem::path& folder() const { return open_.folder; }
  const Progress& progress() const;

 private:
  using Clock = std::chrono::steady_clock;

  void resume(const store::VerifiedCheckpoint& checkpoint);
  void load_initial_weights();
  void stop_if_diverged(const StepResult& result);
  void evaluate();

  Request request_;
  OpenRun open_;
  Console& console_;
  RunSetup setup_;
  RunProvenance provenance_;
  Recorder recorder_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Evaluator> evaluator_;
  std::int64_t saved_at_ = -1;                   // step of the newest checkpoint
  Clock::time_point saved_time_ = Clock::now();  // of the last attempt
};

}  // namespace evenkeel::train
