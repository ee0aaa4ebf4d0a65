// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/study/runs/progress_table.h"

namespace evenkeel::study {

/// One training run to be done.
struct Job {
  std::string key;   // its folder in the run cache
  std::string name;  // "hybrid_norm, layers 16, seed 2"
  config::Config config;
  double memory_bytes = 0;  // peak memory
  double work = 0;          // in any unit, for the remaining time
};

/// How a job ended.
struct JobResult {
  enum class State { finished, diverged, crashed, not_run };  // not_run: stopped before its end
  State state = State::not_run;
  std::string reason;
};

/// What a scheduler may use, and where its files lie.
struct Resources {
  std::filesystem::path executable;  // that trains: EXECUTABLE train --config ... --run ...
  std::filesystem::path run_cache;   // of run folders
  std::filesystem::path logs;        // what each process printed
  int cores = 1;
  bool exclusive = false;  // one run at a time, with all cores or as many as its configuration says
  double memory_bytes = 0;  // free memory; 0: not known
  double minutes = 0;       // no run is started later; 0: no limit
  std::function<bool()> stop_requested;
};

/// Runs jobs in parallel processes, as many as cores and memory allow, until all are done or a stop
/// is requested. Finished runs of the cache are not repeated, interrupted runs are resumed, runs
/// that another process has locked are waited for, and crashed runs are retried once.
class JobScheduler {
 public:
  JobScheduler(Resources resources, ProgressTable& progress_table);

  /// Adds to the totals of all later calls of run(), so that the remaining time covers all of them.
  void expect(std::size_t runs, double work);

  /// \return the result of each key
  /// \throws Error (io) if the disk is full, once all running jobs have saved
  std::map<std::string, JobResult> run(const std::vector<Job>& jobs);

  /// Whether no job may be started any more: a stop is requested, or the time limit is over.
  bool should_stop() const;

 private:
  struct Execution;
  Resources resources_;
  ProgressTable& progress_table_;
  double start_time_ = 0;
  Progress progress_;              // of all calls
  std::size_t expected_runs_ = 0;  // runs that run() was not called with yet
  double work_done_ = 0, work_left_ = 0;
};

}  // namespace evenkeel::study
