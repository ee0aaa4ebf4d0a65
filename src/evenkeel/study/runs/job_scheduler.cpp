// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/job_scheduler.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/study/runs/clock.h"
#include "evenkeel/study/runs/job_scheduler_execution.h"
#include "evenkeel/study/runs/run_leases.h"

namespace evenkeel::study {

namespace {

constexpr double kPollSeconds = 0.05;

}  // namespace

JobScheduler::JobScheduler(Resources resources, ProgressTable& progress_table)
    : resources_(std::move(resources)),
      progress_table_(progress_table),
      start_time_(seconds_now()) {}

void JobScheduler::expect(std::size_t runs, double work) {
  expected_runs_ += runs;
  progress_.total += runs;
  work_left_ += work;
}

void JobScheduler::cancel_expected(std::size_t runs, double work) {
  const auto canceled = std::min(runs, expected_runs_);
  if (canceled == 0) return;
  expected_runs_ -= canceled;
  progress_.total -= canceled;
  work_left_ -= work * static_cast<double>(canceled) / static_cast<double>(runs);
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
    const bool continues = !should_stop() && !execution.fatal_error && !execution.queue.empty();
    if (execution.running.empty() && !continues) break;
    if (resources_.stop_requested() || execution.fatal_error) {
      for (auto& each : execution.running) each.process.terminate();
    }
    execution.renew_leases();
    if (!execution.reap()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(kPollSeconds));
    }
    execution.draw();
  }
  progress_table_.clear();
  if (resources_.leases != nullptr) resources_.leases->release_all();
  if (execution.fatal_error) throw *execution.fatal_error;
  return execution.job_results;
}

}  // namespace evenkeel::study
