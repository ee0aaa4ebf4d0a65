// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/evaluate/evaluation.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/machine.h"
#include "evenkeel/train/open_run.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

/// A run folder that is being trained in: trainer, text, records and lock. `train()` drives it.
class Run {
 public:
  Run(const Request& request, OpenRun open, Console& console);

  /// Loads the newest checkpoint, if there is one; else saves the initial weights.
  void start();
  bool finished() const { return trainer_->progress().step >= trainer_->progress().steps; }

  /// One optimizer step with its records, evaluation and checkpoint, as far as they are due.
  /// \throws Error (diverged) when the budget of bad steps is spent
  void step();

  /// Saves now. A full disk is a warning unless `required`.
  void save(bool required);
  /// Evaluates the newest weights unless that is done, writes sample, report and status.
  void finish(const std::string& state);

  const std::filesystem::path& folder() const { return open_.folder; }
  const Progress& progress() const { return trainer_->progress(); }

 private:
  using Clock = std::chrono::steady_clock;

  void check_memory();
  void check_probes();
  void check_schedule();
  void print_summary() const;
  void write_provenance() const;
  void resume(const store::VerifiedCheckpoint& checkpoint);
  void start_from(const std::filesystem::path& from);
  void check_provenance(const store::VerifiedCheckpoint& checkpoint);
  void record(const StepRecord& step, double seconds, std::int64_t faults);
  void handle_health_events(const StepRecord& step);
  void evaluate();
  /// \return false if the weights give no finite logits
  bool write_sample() const;
  void write_status(const std::string& state) const;
  void append(store::JsonLinesFile& records, const nlohmann::ordered_json& line);
  nlohmann::ordered_json provenance() const;
  nlohmann::ordered_json manifest() const;

  Request request_;
  OpenRun open_;
  Console& console_;
  Machine machine_;
  data::Corpora text_;
  norm::Shape shape_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<data::ValidationWindows> validation_, ood_;  // the latter null without data.ood
  store::JsonLinesFile metrics_, health_, probes_;
  nlohmann::ordered_json changes_ =
      nlohmann::ordered_json::array();  // allowed by --override, since the start
  std::optional<double> gap_;  // of the last evaluation, where the entropy of the text is known
  std::int64_t evaluated_at_ = -1, saved_at_ = -1;
  Clock::time_point saved_time_ = Clock::now();
  double seconds_per_step_ = 0;
  std::optional<CpuContention> contention_;  // since the first step of this process
  std::optional<double>
      cpu_contention_;  // share of the processors' time that others took, the most so far
  bool records_failed_ = false;
};

}  // namespace evenkeel::train
