// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/config/config.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/records_file.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/tracker.h"
#include "evenkeel/train/z_score.h"

namespace evenkeel::train {

struct HealthEvent;
struct LastEvaluation;
struct Progress;
struct RankTimes;
struct RunEvaluation;
struct RunTaskScores;
struct StepRecord;

/// True if an action with the period `every` is due after `step`. \param every  in steps; 0: never
inline bool is_due(std::int64_t step, std::int64_t every) {
  return every > 0 && step % every == 0;
}

/// The wall-clock time and page faults of one step.
struct StepCost {
  double seconds = 0;       // wall clock
  std::int64_t faults = 0;  // minor page faults: pages that the kernel mapped
};

/// Measures a StepCost from its construction on.
class StepTimer {
 public:
  StepTimer();

  /// The cost since the construction.
  StepCost cost() const;

 private:
  std::chrono::steady_clock::time_point started_;
  std::int64_t faults_;
};

/// Writes the records of a run to its folder (metrics.jsonl, evaluations.jsonl, health.jsonl,
/// probes.jsonl, status.json) and to the console. A failed write is a warning, and the run
/// continues; the record is held in memory and written later.
class Recorder {
 public:
  /// \param config, console  must outlive the Recorder
  Recorder(const store::Directory& run, const config::Config& config, Console& console);
  Recorder(const Recorder&) = delete;  // the Tracker calls it
  Recorder& operator=(const Recorder&) = delete;

  /// Restores the CPU contention from status.json when a run is resumed.
  void resume_status();

  /// Prepares the records for a run that resumes from a checkpoint: removes those of later steps.
  /// Warns of records that were lost or changed since the checkpoint, and records this as an event.
  /// \param step     step of the checkpoint
  /// \param records  `records` of its manifest; null: unknown
  void resume(std::int64_t step, const nlohmann::json& records);

  /// Begins the files for TensorBoard and other programs (docs/tracking.md), after resume().
  /// \param step     of the checkpoint from which the run resumes; 0: a new run
  /// \param sources  names of the sources of a mixture
  void start_tracking(std::int64_t step, const std::vector<std::string>& sources);

  /// Completes these files, and adds the sample of the model to them. No record of this step may
  /// follow.
  void finish_tracking(std::int64_t step);

  /// Makes all records durable. A file that cannot be flushed is a warning.
  /// \return `records` of the manifest: by file name, store::RecordsFile::summary()
  /// \throws FullDisk
  nlohmann::json flush();

  /// Starts the timer of a step. The first call also starts the measurement of CPU contention.
  StepTimer start_step();

  /// Records a step: metrics if due, layer profiles, health events, and the progress line.
  /// \param progress  progress after the step
  /// \param last      Evaluator::last()
  /// \param ranks     of a run on several ranks; recorded if `computed` is not empty
  void record(const StepRecord& step, const Progress& progress, const StepCost& cost,
              const LastEvaluation& last, const RankTimes& ranks);

  /// Records an evaluation in metrics.jsonl and on the console.
  void record(const RunEvaluation& evaluation);

  /// Records the scores of tasks in evaluations.jsonl and on the console.
  void record(const RunTaskScores& scores);

  /// Records a checkpoint that could not be saved, as a health event.
  void record_failed_save(std::int64_t step, const std::string& error);

  /// Records a rank that is slower than all others, as a health event.
  void record_straggler(std::int64_t step, const std::string& detail);

  /// Ends the measurement of CPU contention. On a terminal, prints a note if other processes used
  /// more than a quarter of the CPU time.
  void note_contention();

  /// Replaces status.json.
  /// \param state  "training", "stopped", "finished" or "diverged"
  void write_status(const std::string& state, const Progress& progress) const;

 private:
  void record_metrics(const StepRecord& step, const Progress& progress, const StepCost& cost,
                      const LastEvaluation& last, const RankTimes& ranks);
  void record_event(const HealthEvent& event, std::int64_t step);
  void record_failed_log(const std::string& error);
  void append(store::RecordsFile& records, const nlohmann::ordered_json& line);

  store::Directory run_;
  const config::Config& config_;
  Console& console_;
  store::RecordsFile metrics_, health_, probes_, evaluations_;
  Tracker tracker_;
  std::int64_t step_ = 0;                    // of the newest record
  ZScore loss_z_, gradient_z_;               // of the steps of this process
  double seconds_per_step_ = 0;              // exponential moving average
  std::optional<CpuContention> contention_;  // since the first step of this process
  std::optional<double> cpu_contention_;     // largest share of CPU time of other processes
  bool records_failed_ = false;              // the last write failed
};

}  // namespace evenkeel::train
