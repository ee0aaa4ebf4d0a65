// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/study/runs/clock.h"
#include "evenkeel/study/runs/disk_space.h"
#include "evenkeel/study/runs/job_scheduler_execution.h"
#include "evenkeel/study/runs/run_cache.h"

namespace evenkeel::study {

namespace {

constexpr double kDrawSeconds = 1.0;

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

}  // namespace evenkeel::study
