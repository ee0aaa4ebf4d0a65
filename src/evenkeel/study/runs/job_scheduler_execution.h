// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/study/runs/child_process.h"
#include "evenkeel/study/runs/job_scheduler.h"

namespace evenkeel::study {

/// A job that is not done yet.
struct QueuedJob {
  const Job* job = nullptr;
  int attempts = 0;       // that crashed
  int busy_attempts = 0;  // that ended with exit code 75, but not because of the lock of the run
  bool has_lock_warning = false;
  double retry_at = 0;  // seconds_now(): no start before it
  double unfenced_at =
      -1;  // seconds_now() when its lease was stolen, until fence_run(); -1: not so
};

/// A job that is running.
struct RunningJob {
  QueuedJob queued;
  ChildProcess process;
  int threads = 1;
  double start_time = 0;
  std::int64_t first_step = -1;  // that was seen of it here
  bool is_waiting = false;       // for space on a full disk
  bool is_lost = false;          // another worker has stolen its lease
};

/// The state of one call of JobScheduler::run().
struct JobScheduler::Execution {
  enum class Start { now, later, never };

  JobScheduler& scheduler;
  const Resources& resources = scheduler.resources_;
  ProgressTable& progress_table = scheduler.progress_table_;
  std::map<std::string, JobResult> job_results;
  std::deque<QueuedJob> queue;
  std::vector<RunningJob> running;
  double last_draw = 0;
  bool was_disk_full = false;
  std::optional<Error> fatal_error;  // why no run may start any more: a full disk, a changed text

  void enqueue(const std::vector<Job>& jobs);
  void finish(const Job& job, JobResult job_result);
  bool has_other_text(const Job& job);
  bool finish_if_cached(const Job& job);
  void remove_unneeded_checkpoints(const Job& job);
  bool fits_memory(const Job& job) const;
  int threads_for(const Job& job) const;
  Start take_lease(QueuedJob& queued);
  bool is_fenced(QueuedJob& queued) const;
  Start readiness(QueuedJob& queued);
  void start(const QueuedJob& next);
  void start_ready();
  void renew_leases(bool at_once = false);
  void wait_for_lock(QueuedJob queued, const std::string& line);
  bool retry(QueuedJob queued, int code, const std::string& reason);
  void handle_failure(RunningJob& ended, int code);
  void handle_exit(RunningJob& ended, int code);
  bool reap();
  void say_if_disk_is_full();
  void draw();
};

}  // namespace evenkeel::study
