// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/study/runs/progress_table.h"
#include "evenkeel/study/runs/run_texts.h"

namespace evenkeel::study {

class RunLeases;

/// One training run to execute.
struct Job {
  std::string key;   // folder in the run cache
  std::string name;  // "hybrid_norm, layers 16, seed 2"
  config::Config config;
  double memory_bytes = 0;  // peak memory
  double work = 0;          // any unit; estimates the remaining time
  SharedTexts texts = {};   // that the run must have read; nullptr: any
};

/// The result of a job.
struct JobResult {
  enum class State { finished, diverged, crashed, not_run };  // not_run: stopped before it ended
  State state = State::not_run;
  std::string reason;
};

/// The limits and paths of a scheduler.
struct Resources {
  std::filesystem::path executable;  // runs EXECUTABLE train --config ... --run ...
  std::filesystem::path run_cache;   // parent of the run folders
  std::filesystem::path logs;        // output of each process
  std::string device = "cpu";        // --device of the runs
  int cores = 1;
  bool exclusive = false;   // one run at a time, with all cores or the configured number
  double memory_bytes = 0;  // free memory, bytes; 0: unknown
  double minutes = 0;       // no run starts after this time; 0: no limit
  std::function<bool()> stop_requested;
  // Seconds before the next attempt on a locked run, and unit of the pauses after exit code 75.
  double retry_seconds = 0.5;
  RunLeases* leases = nullptr;  // of a worker; nullptr: no other process trains runs of the study
};

/// Runs jobs in parallel processes, within the limits of cores and memory, until all have ended or
/// a stop is requested. It skips finished runs of the cache, resumes interrupted runs, waits for
/// runs that another process has locked, and retries crashed runs once. A run that ends with exit
/// code 75 (busy) for another reason, such as missing memory, gets four attempts with growing
/// pauses. A worker starts only runs whose lease it has.
class JobScheduler {
 public:
  JobScheduler(Resources resources, ProgressTable& progress_table);

  /// Announces runs of later calls of run(), so that the remaining time includes them.
  void expect(std::size_t runs, double work);

  /// Takes back announced runs that no call of run() will get. Fewer, if fewer are still expected.
  void cancel_expected(std::size_t runs, double work);

  /// Runs the jobs.
  /// \return the result of each job, by key
  /// \throws Error (io) if the disk is full; (differs) if a run, also one of the cache, has read
  ///         another text than its job, which is then set aside; both after all running jobs have
  ///         saved
  std::map<std::string, JobResult> run(const std::vector<Job>& jobs);

  /// True if no further job may start: a stop is requested, or the time limit is exceeded.
  bool should_stop() const;

 private:
  struct Execution;
  Resources resources_;
  ProgressTable& progress_table_;
  double start_time_ = 0;
  Progress progress_;              // over all calls of run()
  std::size_t expected_runs_ = 0;  // announced runs that run() has not received yet
  double work_done_ = 0, work_left_ = 0;
};

}  // namespace evenkeel::study
