// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/job_scheduler_execution.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/study/runs/clock.h"
#include "evenkeel/study/runs/disk_space.h"
#include "evenkeel/study/runs/run_cache.h"
#include "evenkeel/study/runs/run_leases.h"

namespace evenkeel::study {

namespace {

constexpr int kMaxAttempts = 2;      // of a run that crashes
constexpr int kMaxBusyAttempts = 4;  // of a run that ends with exit code 75
constexpr double kPauseGrowth = 4;   // each pause is so many times the one before
constexpr double kMemoryFraction = 0.9;

/// True if a process has ended because another one has the lock of its run.
/// \param line  the last line of its log: the message of store::Lock
bool is_lock_message(const std::string& line, const std::filesystem::path& run) {
  return line.starts_with(printable_line(text(run.string(), ": locked by ")));
}

}  // namespace

/// Sets aside a run that has read another text than the study, and ends the study: its results are
/// not those of its key, and the next runs would read that text, too. While another process has the
/// run, it stays where it is.
/// \return true if the run has read another text
bool JobScheduler::Execution::has_other_text(const Job& job) {
  const auto run = resources.run_cache / job.key;
  const auto difference = job.texts == nullptr ? "" : text_difference(run, *job.texts);
  if (difference.empty()) return false;
  const bool is_ours = resources.leases == nullptr || resources.leases->holds(job.key);
  if (!is_ours || store::is_locked(run)) return true;
  const auto aside = rename_damaged(run);
  const auto line = text("an input changed while the study ran: ", difference, " ", run.string(),
                         "; the run is now ", aside.filename().string(),
                         " and is not used; restore the file and give the command again, or name "
                         "another folder with --run");
  if (fatal_error) progress_table.warn(text(job.name, ": ", line));
  if (!fatal_error) fatal_error = Error(Exit::differs, line);
  return true;
}

/// Ends the job if the run cache has its result; moves a damaged run folder away.
bool JobScheduler::Execution::finish_if_cached(const Job& job) {
  if (has_other_text(job)) return false;
  const auto run = resources.run_cache / job.key;
  const auto state = run_status(run).state;
  const bool is_ours = resources.leases == nullptr || resources.leases->holds(job.key);
  if (state == RunStatus::State::damaged && is_ours && !store::is_locked(run)) {
    const auto aside = rename_damaged(run);
    progress_table.warn(text(job.name, ": ", run.string(),
                             " has no record of its last evaluation; it is now ",
                             aside.filename().string(), ", and the run starts again"));
  }
  const bool has_diverged = state == RunStatus::State::diverged;
  if (state != RunStatus::State::finished && !has_diverged) return false;
  if (!has_diverged && is_ours) remove_unneeded_checkpoints(job);
  finish(job, {has_diverged ? JobResult::State::diverged : JobResult::State::finished, ""});
  return true;
}

/// Leaves a finished run the checkpoints that kept_checkpoints() counts.
void JobScheduler::Execution::remove_unneeded_checkpoints(const Job& job) {
  if (kept_checkpoints(job.config) > 1) return;
  const auto failure = remove_older_checkpoints(resources.run_cache / job.key);
  if (!failure.empty()) progress_table.warn(text(job.name, ": ", failure));
}

/// Adds jobs to the queue. Finished runs of the cache are done at once; jobs with equal keys are
/// one job.
void JobScheduler::Execution::enqueue(const std::vector<Job>& jobs) {
  for (const auto& job : jobs) {
    if (scheduler.expected_runs_ > 0) {
      --scheduler.expected_runs_;
    } else {
      ++scheduler.progress_.total;
      scheduler.work_left_ += job.work;
    }
    const bool is_new = job_results.emplace(job.key, JobResult{}).second;
    if (!is_new) --scheduler.progress_.total;
    if (is_new && resources.leases != nullptr) resources.leases->look_at(job.key);
    if (is_new && !finish_if_cached(job)) {
      queue.push_back({&job});
    } else {
      scheduler.work_left_ -= job.work;
    }
  }
}

void JobScheduler::Execution::finish(const Job& job, JobResult job_result) {
  ++scheduler.progress_.done;
  if (job_result.state != JobResult::State::finished) ++scheduler.progress_.failed;
  const bool has_crashed = job_result.state == JobResult::State::crashed;
  if (resources.leases != nullptr) {
    resources.leases->release(job.key, has_crashed ? job_result.reason : "");
  }
  job_results[job.key] = std::move(job_result);
}

bool JobScheduler::Execution::fits_memory(const Job& job) const {
  if (running.empty() || resources.memory_bytes <= 0) return true;
  double needed_bytes = job.memory_bytes;
  for (const auto& each : running) needed_bytes += each.queued.job->memory_bytes;
  return needed_bytes <= kMemoryFraction * resources.memory_bytes;
}

/// The threads of the next run: one while there are more runs than cores, or than the memory holds;
/// the last runs share the cores. If exclusive: the configured number, or all cores.
int JobScheduler::Execution::threads_for(const Job& job) const {
  if (resources.exclusive) {
    const auto own = static_cast<int>(job.config.train.threads);
    return !running.empty() ? 0 : own > 0 ? own : resources.cores;
  }
  int free = resources.cores;
  for (const auto& each : running) free -= each.threads;
  auto runs = static_cast<double>(queue.size() + running.size());
  if (resources.memory_bytes > 0)
    runs = std::min(runs, kMemoryFraction * resources.memory_bytes / job.memory_bytes);
  const int share = static_cast<int>(resources.cores / std::max(1.0, std::floor(runs)));
  return std::min(free, std::max(1, share));
}

/// Takes the lease of a run. \return whether the run may start now, later or, if it crashed in
/// another worker, never
JobScheduler::Execution::Start JobScheduler::Execution::take_lease(QueuedJob& queued) {
  using Lease = RunLeases::Claim;
  auto& leases = *resources.leases;
  const auto& job = *queued.job;
  const auto claim = leases.claim(job.key);
  if (claim == Lease::crashed_elsewhere) {
    finish(job, {JobResult::State::crashed, leases.crash_reason(job.key)});
    return Start::never;
  }
  if (claim == Lease::held_elsewhere) {
    queued.retry_at = seconds_now() + leases.retry_seconds();
    return Start::later;
  }
  if (claim == Lease::stolen) {
    queued.unfenced_at = seconds_now();
    progress_table.warn(text(job.name, ": worker ", leases.other_worker(job.key),
                             " wrote no heartbeat for ", with_digits(leases.heartbeat_timeout(), 3),
                             " s; this worker takes the run over"));
  }
  return Start::now;
}

/// Stops a process that still trains a stolen run: the former owner may be silent, and its process
/// may not.
/// \return false while a process has the lock of the run and may still save and end by itself
bool JobScheduler::Execution::is_fenced(QueuedJob& queued) const {
  if (queued.unfenced_at < 0) return true;
  const bool has_waited =
      seconds_now() - queued.unfenced_at >= resources.leases->heartbeat_timeout();
  if (!fence_run(resources.run_cache / queued.job->key, has_waited)) return false;
  queued.unfenced_at = -1;
  return true;
}

/// Whether a job may start: never if it is finished, later while another process works on it.
JobScheduler::Execution::Start JobScheduler::Execution::readiness(QueuedJob& queued) {
  const auto& job = *queued.job;
  if (resources.leases != nullptr) {
    if (finish_if_cached(job)) return Start::never;
    if (const auto start = take_lease(queued); start != Start::now) return start;
  }
  if (!is_fenced(queued) || store::is_locked(resources.run_cache / job.key)) {
    queued.retry_at = seconds_now() + resources.retry_seconds;
    return Start::later;
  }
  if (finish_if_cached(job)) return Start::never;
  return fatal_error ? Start::later : Start::now;
}

void JobScheduler::Execution::start(const QueuedJob& next) {
  const auto& job = *next.job;
  const int threads = threads_for(job);
  const auto name = job.key + ".toml";
  const auto file = resources.logs / name;
  try {
    store::Directory(resources.logs).write(name, config::to_toml(job.config));
    running.push_back(
        {next,
         ChildProcess({resources.executable.string(), "train", "--quiet", "--config", file.string(),
                       "--run", (resources.run_cache / job.key).string(), "--device",
                       resources.device, "--set", text("train.threads=", threads)},
                      resources.logs / (job.key + ".log")),
         threads, seconds_now()});
  } catch (const Error& failure) {
    if (failure.exit() != Exit::io) throw;
    fatal_error = failure;
  }
}

void JobScheduler::Execution::start_ready() {
  for (std::size_t i = 0; i < queue.size() && !fatal_error;) {
    auto& queued = queue[i];
    if (threads_for(*queued.job) < 1) return;
    if (queued.retry_at > seconds_now() || !fits_memory(*queued.job)) {
      ++i;
      continue;
    }
    const auto readiness_now = readiness(queued);
    if (readiness_now == Start::later) continue;  // retry_at is in the future
    if (readiness_now == Start::now) start(queued);
    if (readiness_now == Start::never) scheduler.work_left_ -= queued.job->work;
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Writes the heartbeats of this worker, and stops the runs whose leases others have stolen.
void JobScheduler::Execution::renew_leases(bool at_once) {
  if (resources.leases == nullptr) return;
  for (const auto& key : resources.leases->renew(at_once)) {
    for (auto& each : running) {
      if (each.queued.job->key == key) each.is_lost = true;
    }
  }
  for (auto& each : running) {
    if (each.is_lost) each.process.terminate();
  }
}

/// Queues a run that another process has locked: it waits until the lock is free.
void JobScheduler::Execution::wait_for_lock(QueuedJob queued, const std::string& line) {
  if (!std::exchange(queued.has_lock_warning, true)) {
    progress_table.warn(text(queued.job->name, " waits for another process: ", line));
  }
  queued.retry_at = seconds_now() + resources.retry_seconds;
  queue.push_back(queued);
}

/// Queues a run that ended without a result, unless its attempts are used up. Only the first retry
/// is shown.
/// \return false if the run has failed
bool JobScheduler::Execution::retry(QueuedJob queued, int code, const std::string& reason) {
  const auto& name = queued.job->name;
  if (code == static_cast<int>(Exit::busy)) {
    if (++queued.busy_attempts >= kMaxBusyAttempts) return false;
    const double pause = resources.retry_seconds * std::pow(kPauseGrowth, queued.busy_attempts);
    queued.retry_at = seconds_now() + pause;
    if (queued.busy_attempts == 1) {
      progress_table.warn(text(name, ": ended with ", reason, "; it starts again in ",
                               with_digits(pause, 3), " s, at most ", kMaxBusyAttempts - 1,
                               " times with growing pauses"));
    }
  } else {
    if (++queued.attempts >= kMaxAttempts) return false;
    progress_table.warn(text(name, ": ended with ", reason, "; it starts again"));
  }
  queue.push_back(queued);
  return true;
}

/// Retries a run that ended without a result, or ends its job.
void JobScheduler::Execution::handle_failure(RunningJob& ended, int code) {
  const auto& job = *ended.queued.job;
  const auto run = resources.run_cache / job.key;
  const auto line = last_log_line(resources.logs / (job.key + ".log"));
  if (code == static_cast<int>(Exit::busy) && is_lock_message(line, run)) {
    return wait_for_lock(ended.queued, line);
  }
  const bool is_permanent = code == static_cast<int>(Exit::usage) ||
                            code == static_cast<int>(Exit::data) ||
                            code == static_cast<int>(Exit::differs);
  const auto reason = exit_text(code, line);
  if (!is_permanent && retry(ended.queued, code, reason)) return;
  progress_table.warn(text(job.name, ": ended with ", reason, "; its folder is ", run.string()));
  scheduler.work_left_ -= job.work;
  finish(job, {JobResult::State::crashed, reason});
}

/// Sets the state of a run by the exit code of its process.
void JobScheduler::Execution::handle_exit(RunningJob& ended, int code) {
  const auto& job = *ended.queued.job;
  const auto run = resources.run_cache / job.key;
  const auto log = resources.logs / (job.key + ".log");
  if (has_other_text(job)) {
    if (!fatal_error) queue.push_back({&job});  // another process has the run
    return;
  }
  if (code == 0 && run_status(run).state == RunStatus::State::finished) {
    scheduler.work_done_ += job.work;
    remove_unneeded_checkpoints(job);
    return finish(job, {JobResult::State::finished, ""});
  }
  if (code == static_cast<int>(Exit::diverged)) {
    scheduler.work_done_ += job.work;
    return finish(job, {JobResult::State::diverged, last_log_line(log)});
  }
  if (ended.is_lost || (resources.leases != nullptr && !resources.leases->holds(job.key))) {
    progress_table.warn(
        text(job.name, ": stopped here, because another worker has taken the run over"));
    return queue.push_back({&job});
  }
  if (code == static_cast<int>(Exit::io)) {
    const auto line = last_log_line(log);
    if (!fatal_error) {
      fatal_error =
          Error(Exit::io, line.empty() ? text(run.string(), ": cannot be written") : line);
    }
  }
  // After a stop, a later call resumes the run from its last checkpoint.
  if (!resources.stop_requested() && !fatal_error) handle_failure(ended, code);
}

/// \return true if a job ended
bool JobScheduler::Execution::reap() {
  bool any = false;
  for (std::size_t i = 0; i < running.size();) {
    const auto code = running[i].process.exit_code();
    if (!code) {
      ++i;
      continue;
    }
    if (*code != 0) renew_leases(/*at_once=*/true);  // its lock may have been replaced
    auto ended = std::move(running[i]);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    handle_exit(ended, *code);
    any = true;
  }
  return any;
}

}  // namespace evenkeel::study
