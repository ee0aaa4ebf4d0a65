// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/campaign.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/study/clock.h"
#include "evenkeel/study/pool.h"
#include "evenkeel/study/worker.h"

namespace evenkeel::study {

namespace {

constexpr int kAttempts = 2;
constexpr double kTick = 0.05, kDraw = 1.0, kRetry = 0.5;  // seconds
constexpr double kShareOfMemory = 0.9;

/// A job that is not done yet.
struct Waiting {
  const Job* job = nullptr;
  int attempts = 0;
  double not_before = 0;
};

/// One that is in work.
struct Working {
  Waiting what;
  Worker worker;
  int threads = 1;
  double started = 0;
  std::int64_t first_step = -1;  // that was seen of it here
};

/// The last step and loss of a run's records.
Row row_of(const Working& working, const std::filesystem::path& run) {
  const auto& job = *working.what.job;
  Row row{.name = job.name,
          .steps = standing_of(run).steps,
          .loss = std::nan(""),
          .seconds_left = std::nan("")};
  for (const auto& record : store::read_records(run / "metrics.jsonl")) {
    if (!record.contains("loss") || !record["loss"].is_number()) continue;
    row.step = record.value("step", std::int64_t{0});
    row.loss = record["loss"].get<double>();
  }
  return row;
}

}  // namespace

/// The state of one call of run().
struct Campaign::Active {
  Campaign& all;
  const Means& means = all.means_;
  Live& live = all.live_;
  std::map<std::string, Ending> endings;
  std::deque<Waiting> waiting;
  std::vector<Working> working;
  double drawn = 0;
  std::optional<std::string> disk;  // why nothing can be written any more

  void take(const std::vector<Job>& jobs);
  void end(const Job& job, Ending ending);
  bool is_done(const Job& job);
  bool fits(const Job& job) const;
  int threads_for(const Job& job) const;
  bool is_settled(Waiting& what);
  void start(const Waiting& next);
  void start_some();
  void settle(Working& working, int code);
  bool settle_ended();
  void draw();
};

/// Ends it if the pool has it; what lies there damaged is moved out of the way.
bool Campaign::Active::is_done(const Job& job) {
  const auto run = means.pool / job.key;
  const auto state = standing_of(run).state;
  if (state == Standing::State::damaged && !store::is_locked(run)) {
    const auto aside = set_aside(run);
    live.warn(text(job.name, ": ", run.string(),
                   " has no record of its last evaluation; it is now ", aside.filename().string(),
                   ", and runs once more"));
  }
  const bool has_diverged = state == Standing::State::diverged;
  if (state != Standing::State::finished && !has_diverged) return false;
  end(job, {has_diverged ? Ending::How::diverged : Ending::How::finished, ""});
  return true;
}

/// Those that are there are done; two jobs of one key are one.
void Campaign::Active::take(const std::vector<Job>& jobs) {
  for (const auto& job : jobs) {
    if (all.expected_ > 0) {
      --all.expected_;
    } else {
      ++all.sum_.all;
      all.work_left_ += job.work;
    }
    const bool is_new = endings.emplace(job.key, Ending{}).second;
    if (!is_new) --all.sum_.all;
    if (is_new && !is_done(job)) {
      waiting.push_back({&job});
    } else {
      all.work_left_ -= job.work;
    }
  }
}

void Campaign::Active::end(const Job& job, Ending ending) {
  ++all.sum_.done;
  if (ending.how != Ending::How::finished) ++all.sum_.failed;
  endings[job.key] = std::move(ending);
}

bool Campaign::Active::fits(const Job& job) const {
  if (working.empty() || means.bytes <= 0) return true;
  double taken = job.bytes;
  for (const auto& each : working) taken += each.what.job->bytes;
  return taken <= kShareOfMemory * means.bytes;
}

/// One each while there are more runs than cores, or than the memory holds; the last ones share
/// them. Alone as many as its configuration says, or all.
int Campaign::Active::threads_for(const Job& job) const {
  if (means.alone) {
    const auto own = static_cast<int>(job.config.train.threads);
    return !working.empty() ? 0 : own > 0 ? own : means.cores;
  }
  int free = means.cores;
  for (const auto& each : working) free -= each.threads;
  auto runs = static_cast<double>(waiting.size() + working.size());
  if (means.bytes > 0) runs = std::min(runs, kShareOfMemory * means.bytes / job.bytes);
  const int share = static_cast<int>(means.cores / std::max(1.0, std::floor(runs)));
  return std::min(free, std::max(1, share));
}

/// Whether there is nothing to start: another process has ended it, or has it in work.
bool Campaign::Active::is_settled(Waiting& what) {
  if (store::is_locked(means.pool / what.job->key)) {
    what.not_before = seconds_now() + kRetry;
    return true;
  }
  const bool done = is_done(*what.job);
  if (done) all.work_left_ -= what.job->work;
  return done;
}

void Campaign::Active::start(const Waiting& next) {
  const auto& job = *next.job;
  const int threads = threads_for(job);
  const auto file = means.logs / (job.key + ".toml");
  try {
    write_file(file, config::to_toml(job.config));
    working.push_back(
        {next,
         Worker({means.program.string(), "train", "--quiet", "--config", file.string(), "--run",
                 (means.pool / job.key).string(), "--set", text("train.threads=", threads)},
                means.logs / (job.key + ".log")),
         threads, seconds_now()});
  } catch (const Error& error) {
    if (error.exit() != Exit::io) throw;
    disk = error.what();
  }
}

void Campaign::Active::start_some() {
  for (std::size_t i = 0; i < waiting.size() && !disk;) {
    auto& what = waiting[i];
    if (threads_for(*what.job) < 1) return;
    if (what.not_before > seconds_now() || !fits(*what.job)) {
      ++i;
      continue;
    }
    if (!is_settled(what)) {
      start(what);
    } else if (what.not_before > seconds_now()) {
      continue;  // waits for another process
    }
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// What the exit code of a run means for it.
void Campaign::Active::settle(Working& working_one, int code) {
  auto what = working_one.what;
  const auto& job = *what.job;
  const auto run = means.pool / job.key;
  const auto log = means.logs / (job.key + ".log");
  const auto state = standing_of(run).state;
  if (code == 0 && state == Standing::State::finished) {
    all.work_done_ += job.work;
    return end(job, {Ending::How::finished, ""});
  }
  if (code == static_cast<int>(Exit::diverged)) {
    all.work_done_ += job.work;
    return end(job, {Ending::How::diverged, last_line_of(log)});
  }
  if (code == static_cast<int>(Exit::io)) {
    const auto line = last_line_of(log);
    if (!disk) disk = line.empty() ? text(run.string(), ": cannot be written") : line;
  }
  if (means.stop_wanted() || disk) return;  // it has saved, or will go on from where it had
  const bool is_out_of_memory = last_line_of(log).starts_with("out of memory");
  if (code == static_cast<int>(Exit::busy) && !is_out_of_memory) {
    what.not_before = seconds_now() + kRetry;  // another process was faster
    return waiting.push_back(what);
  }
  const bool is_our_mistake = code == static_cast<int>(Exit::usage) ||
                              code == static_cast<int>(Exit::data) ||
                              code == static_cast<int>(Exit::differs);
  const auto why = text("exit code ", code, ": ", last_line_of(log));
  if (++what.attempts < kAttempts && !is_our_mistake) {
    live.warn(text(job.name, ": ended with ", why, "; it is tried once more"));
    return waiting.push_back(what);
  }
  live.warn(text(job.name, ": ended with ", why, "; its folder is ", run.string()));
  all.work_left_ -= job.work;
  end(job, {Ending::How::crashed, why});
}

/// \return whether any ended
bool Campaign::Active::settle_ended() {
  bool any = false;
  for (std::size_t i = 0; i < working.size();) {
    const auto code = working[i].worker.ended();
    if (!code) {
      ++i;
      continue;
    }
    auto ended = std::move(working[i]);
    working.erase(working.begin() + static_cast<std::ptrdiff_t>(i));
    settle(ended, *code);
    any = true;
  }
  return any;
}

void Campaign::Active::draw() {
  if (seconds_now() - drawn < kDraw) return;
  drawn = seconds_now();
  std::vector<Row> rows;
  double work = 0;  // of those that are in work
  for (auto& each : working) {
    auto row = row_of(each, means.pool / each.what.job->key);
    if (each.first_step < 0) each.first_step = row.step;
    const auto steps = static_cast<double>(std::max<std::int64_t>(row.steps, 1));
    const auto here = static_cast<double>(row.step - each.first_step);
    if (here > 0) {
      row.seconds_left =
          (seconds_now() - each.started) * static_cast<double>(row.steps - row.step) / here;
    }
    work += each.what.job->work * here / steps;
    rows.push_back(std::move(row));
  }
  // work_left_ is that of all runs that had not ended when they were handed over
  const double done = all.work_done_ + work;
  all.sum_.working = rows.size();
  all.sum_.seconds_left =
      done > 0 ? (seconds_now() - all.started_) * (all.work_left_ - done) / done : std::nan("");
  live.show(rows, all.sum_);
}

Campaign::Campaign(Means means, Live& live)
    : means_(std::move(means)), live_(live), started_(seconds_now()) {}

void Campaign::expect(std::size_t runs, double work) {
  expected_ += runs;
  sum_.all += runs;
  work_left_ += work;
}

bool Campaign::is_over() const {
  constexpr double kMinute = 60;
  return means_.stop_wanted() ||
         (means_.minutes > 0 && seconds_now() - started_ > means_.minutes * kMinute);
}

std::map<std::string, Ending> Campaign::run(const std::vector<Job>& jobs) {
  Active active{*this};
  active.take(jobs);
  while (true) {
    if (!is_over()) active.start_some();
    const bool goes_on = !is_over() && !active.disk && !active.waiting.empty();
    if (active.working.empty() && !goes_on) break;
    if (means_.stop_wanted() || active.disk) {
      for (auto& each : active.working) each.worker.stop();
    }
    if (!active.settle_ended()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(kTick));
    }
    active.draw();
  }
  live_.clear();
  if (active.disk) throw Error(Exit::io, *active.disk);
  return active.endings;
}

}  // namespace evenkeel::study
