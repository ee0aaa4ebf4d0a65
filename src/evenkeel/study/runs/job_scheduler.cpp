// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/job_scheduler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/study/runs/child_process.h"
#include "evenkeel/study/runs/clock.h"
#include "evenkeel/study/runs/disk_space.h"
#include "evenkeel/study/runs/run_cache.h"

namespace evenkeel::study {

namespace {

constexpr int kMaxAttempts = 2;
constexpr double kPollSeconds = 0.05, kDrawSeconds = 1.0, kRetrySeconds = 0.5;  // seconds
constexpr double kMemoryFraction = 0.9;

/// A job that is not done yet.
struct QueuedJob {
  const Job* job = nullptr;
  int attempts = 0;
  double retry_at = 0;
};

/// A job that is running.
struct RunningJob {
  QueuedJob queued;
  ChildProcess process;
  int threads = 1;
  double start_time = 0;
  std::int64_t first_step = -1;  // that was seen of it here
  bool is_waiting = false;       // for space on a full disk
};

/// The last step and loss of a run's records.
ProgressRow progress_row(const RunningJob& running, const std::filesystem::path& run) {
  const auto& job = *running.queued.job;
  ProgressRow row{.name = job.name,
                  .steps = run_status(run).steps,
                  .loss = std::nan(""),
                  .seconds_left = std::nan("")};
  const auto folder = store::Directory::find(run);
  if (!folder) return row;
  for (const auto& record : store::read_records(*folder, "metrics.jsonl").records) {
    if (!record.contains("loss") || !record["loss"].is_number()) continue;
    row.step = record.value("step", std::int64_t{0});
    row.loss = record["loss"].get<double>();
  }
  return row;
}

}  // namespace

/// The state of one call of run().
struct JobScheduler::Execution {
  JobScheduler& scheduler;
  const Resources& resources = scheduler.resources_;
  ProgressTable& progress_table = scheduler.progress_table_;
  std::map<std::string, JobResult> job_results;
  std::deque<QueuedJob> queue;
  std::vector<RunningJob> running;
  double last_draw = 0;
  bool was_disk_full = false;
  std::optional<std::string> disk_error;  // why nothing can be written any more

  void enqueue(const std::vector<Job>& jobs);
  void finish(const Job& job, JobResult job_result);
  bool finish_if_cached(const Job& job);
  bool fits_memory(const Job& job) const;
  int threads_for(const Job& job) const;
  bool has_nothing_to_start(QueuedJob& queued);
  void start(const QueuedJob& next);
  void start_ready();
  void handle_exit(RunningJob& ended, int code);
  bool reap();
  void say_if_disk_is_full();
  void draw();
};

/// Ends the job if the run cache has its result; moves a damaged run folder away.
bool JobScheduler::Execution::finish_if_cached(const Job& job) {
  const auto run = resources.run_cache / job.key;
  const auto state = run_status(run).state;
  if (state == RunStatus::State::damaged && !store::is_locked(run)) {
    const auto aside = rename_damaged(run);
    progress_table.warn(text(job.name, ": ", run.string(),
                             " has no record of its last evaluation; it is now ",
                             aside.filename().string(), ", and the run starts again"));
  }
  const bool has_diverged = state == RunStatus::State::diverged;
  if (state != RunStatus::State::finished && !has_diverged) return false;
  finish(job, {has_diverged ? JobResult::State::diverged : JobResult::State::finished, ""});
  return true;
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

/// True if the job needs no start: another process has finished the run, or is working on it.
bool JobScheduler::Execution::has_nothing_to_start(QueuedJob& queued) {
  if (store::is_locked(resources.run_cache / queued.job->key)) {
    queued.retry_at = seconds_now() + kRetrySeconds;
    return true;
  }
  const bool done = finish_if_cached(*queued.job);
  if (done) scheduler.work_left_ -= queued.job->work;
  return done;
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
         ChildProcess(
             {resources.executable.string(), "train", "--quiet", "--config", file.string(), "--run",
              (resources.run_cache / job.key).string(), "--set", text("train.threads=", threads)},
             resources.logs / (job.key + ".log")),
         threads, seconds_now()});
  } catch (const Error& error) {
    if (error.exit() != Exit::io) throw;
    disk_error = error.what();
  }
}

void JobScheduler::Execution::start_ready() {
  for (std::size_t i = 0; i < queue.size() && !disk_error;) {
    auto& queued = queue[i];
    if (threads_for(*queued.job) < 1) return;
    if (queued.retry_at > seconds_now() || !fits_memory(*queued.job)) {
      ++i;
      continue;
    }
    if (!has_nothing_to_start(queued)) {
      start(queued);
    } else if (queued.retry_at > seconds_now()) {
      continue;  // waits for another process
    }
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Sets the state of a run by the exit code of its process.
void JobScheduler::Execution::handle_exit(RunningJob& ended, int code) {
  auto queued = ended.queued;
  const auto& job = *queued.job;
  const auto run = resources.run_cache / job.key;
  const auto log = resources.logs / (job.key + ".log");
  const auto state = run_status(run).state;
  if (code == 0 && state == RunStatus::State::finished) {
    scheduler.work_done_ += job.work;
    return finish(job, {JobResult::State::finished, ""});
  }
  if (code == static_cast<int>(Exit::diverged)) {
    scheduler.work_done_ += job.work;
    return finish(job, {JobResult::State::diverged, last_log_line(log)});
  }
  if (code == static_cast<int>(Exit::io)) {
    const auto line = last_log_line(log);
    if (!disk_error) disk_error = line.empty() ? text(run.string(), ": cannot be written") : line;
  }
  if (resources.stop_requested() || disk_error)
    return;  // a later call resumes the run from its last checkpoint
  const bool is_out_of_memory = last_log_line(log).starts_with("out of memory");
  if (code == static_cast<int>(Exit::busy) && !is_out_of_memory) {
    queued.retry_at = seconds_now() + kRetrySeconds;  // another process has locked the run
    return queue.push_back(queued);
  }
  const bool is_permanent = code == static_cast<int>(Exit::usage) ||
                            code == static_cast<int>(Exit::data) ||
                            code == static_cast<int>(Exit::differs);
  const auto reason = text("exit code ", code, ": ", last_log_line(log));
  if (++queued.attempts < kMaxAttempts && !is_permanent) {
    progress_table.warn(text(job.name, ": ended with ", reason, "; it starts again"));
    return queue.push_back(queued);
  }
  progress_table.warn(text(job.name, ": ended with ", reason, "; its folder is ", run.string()));
  scheduler.work_left_ -= job.work;
  finish(job, {JobResult::State::crashed, reason});
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
    auto ended = std::move(running[i]);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    handle_exit(ended, *code);
    any = true;
  }
  return any;
}

/// Shows once that the disk of the runs is full, or that a run waits for space.
void JobScheduler::Execution::say_if_disk_is_full() {
  const auto warning = low_disk_warning(resources.run_cache);
  if (!warning.empty() && !was_disk_full) progress_table.warn(warning);
  was_disk_full = !warning.empty();
  for (auto& each : running) {
    const auto& job = *each.queued.job;
    const auto line = each.is_waiting ? "" : waiting_line(resources.logs / (job.key + ".log"));
    if (line.empty()) continue;
    progress_table.warn(text(job.name, ": ", line));
    each.is_waiting = true;
  }
}

void JobScheduler::Execution::draw() {
  if (seconds_now() - last_draw < kDrawSeconds) return;
  last_draw = seconds_now();
  say_if_disk_is_full();
  std::vector<ProgressRow> rows;
  double work = 0;  // of the running jobs
  for (auto& each : running) {
    auto row = progress_row(each, resources.run_cache / each.queued.job->key);
    if (each.first_step < 0) each.first_step = row.step;
    const auto steps = static_cast<double>(std::max<std::int64_t>(row.steps, 1));
    const auto here = static_cast<double>(row.step - each.first_step);
    if (here > 0) {
      row.seconds_left =
          (seconds_now() - each.start_time) * static_cast<double>(row.steps - row.step) / here;
    }
    work += each.queued.job->work * here / steps;
    rows.push_back(std::move(row));
  }
  // work_left_ includes all runs that had not ended when run() got them
  const double done = scheduler.work_done_ + work;
  scheduler.progress_.running = rows.size();
  scheduler.progress_.seconds_left =
      done > 0 ? (seconds_now() - scheduler.start_time_) * (scheduler.work_left_ - done) / done
               : std::nan("");
  progress_table.show(rows, scheduler.progress_);
}

JobScheduler::JobScheduler(Resources resources, ProgressTable& progress_table)
    : resources_(std::move(resources)),
      progress_table_(progress_table),
      start_time_(seconds_now()) {}

void JobScheduler::expect(std::size_t runs, double work) {
  expected_runs_ += runs;
  progress_.total += runs;
  work_left_ += work;
}

bool JobScheduler::should_stop() const {
  constexpr double kMinute = 60;
  return resources_.stop_requested() ||
         (resources_.minutes > 0 && seconds_now() - start_time_ > resources_.minutes * kMinute);
}

std::map<std::string, JobResult> JobScheduler::run(const std::vector<Job>& jobs) {
  Execution execution{*this};
  execution.enqueue(jobs);
  while (true) {
    if (!should_stop()) execution.start_ready();
    const bool continues = !should_stop() && !execution.disk_error && !execution.queue.empty();
    if (execution.running.empty() && !continues) break;
    if (resources_.stop_requested() || execution.disk_error) {
      for (auto& each : execution.running) each.process.terminate();
    }
    if (!execution.reap()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(kPollSeconds));
    }
    execution.draw();
  }
  progress_table_.clear();
  if (execution.disk_error) throw Error(Exit::io, *execution.disk_error);
  return execution.job_results;
}

}  // namespace evenkeel::study
