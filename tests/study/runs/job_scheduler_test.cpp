// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/job_scheduler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/study/runs/clock.h"
#include "evenkeel/study/runs/disk_space.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

/// A scheduler of one job, whose processes are a shell script in place of the program.
class JobSchedulerOfAScript : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(run_);
    fs::create_directories(root_ / "logs");
  }
  void TearDown() override { fs::remove_all(root_); }

  /// Runs the job.
  /// \param keep    checkpoint.keep
  /// \param script  $run: the folder of the run; $attempt: 1, 2, ...
  JobResult result(const std::string& script, std::int64_t keep = 2) {
    constexpr double kLimit = 30;  // seconds; only a scheduler that never gives up takes so long
    const auto program = root_ / "program";
    const auto count = (root_ / "count").string();
    write_file(program, text("#!/bin/sh\nrun=$6\necho >> ", count, "\nattempt=$(wc -l < ", count,
                             ")\n", script));
    fs::permissions(program, fs::perms::owner_all);
    const double end = seconds_now() + kLimit;
    ProgressTable progress_table(true);
    JobScheduler scheduler({.executable = program,
                            .run_cache = run_.parent_path(),
                            .logs = root_ / "logs",
                            .stop_requested = [end] { return seconds_now() > end; },
                            .retry_seconds = 0.01},
                           progress_table);
    auto config = config::resolve({});
    config.checkpoint.keep = keep;
    ::testing::internal::CaptureStderr();
    const auto results = scheduler.run({{.key = "key", .name = "arm, seed 1", .config = config}});
    warnings_ = ::testing::internal::GetCapturedStderr();
    return results.at("key");
  }

  /// Number of processes that were started.
  std::size_t attempts() const { return read_file(root_ / "count").size(); }

  fs::path root_ = fs::path(::testing::TempDir()) / text("job_scheduler-", ::getpid());
  fs::path run_ = root_ / "pool" / "key";
  std::string warnings_;
};

/// Ends as a run does that has trained.
constexpr const char* kFinish =
    "echo > $run/run.toml\n"
    "echo '{\"step\": 1, \"val_loss\": 1}' > $run/metrics.jsonl\n"
    "echo '{\"state\": \"finished\", \"step\": 1}' > $run/status.json\n";

/// The total of a study of one run, as the progress shows it.
/// \param expected, canceled  announced runs, and those of them that are taken back
std::size_t total_of(const fs::path& root, std::size_t expected, std::size_t canceled) {
  write_file(root / "program", text("#!/bin/sh\nrun=$6\nmkdir -p $run\n", kFinish));
  fs::permissions(root / "program", fs::perms::owner_all);
  fs::remove_all(root / "pool");
  ProgressTable progress_table(true);
  JobScheduler scheduler({.executable = root / "program",
                          .run_cache = root / "pool",
                          .logs = root / "logs",
                          .stop_requested = [] { return false; }},
                         progress_table);
  scheduler.expect(expected, static_cast<double>(expected));
  scheduler.cancel_expected(canceled, static_cast<double>(canceled));
  const auto results =
      scheduler.run({{.key = "key", .name = "arm, seed 1", .config = config::resolve({})}});
  EXPECT_EQ(results.at("key").state, JobResult::State::finished);
  return progress_table.last_progress().total;
}

TEST_F(JobSchedulerOfAScript, CountsNoRunsThatAreTakenBack) {
  EXPECT_EQ(total_of(root_, 3, 0), 3U);
  EXPECT_EQ(total_of(root_, 3, 2), 1U);
  EXPECT_EQ(total_of(root_, 0, 2), 1U);  // another run took the place of the announced ones
  EXPECT_EQ(total_of(root_, 1, 2), 1U);
}

/// A process that says a line and ends with exit code 75.
std::string busy_script(const std::string& line) {
  return "echo 'evenkeel: " + line + "' >&2\nexit 75\n";
}

TEST_F(JobSchedulerOfAScript, GivesUpARunAfterFourAttemptsOnABusyMachine) {
  const std::string line = "8 threads are needed, but only 3 can be created";
  const auto failed = result(busy_script(line));
  EXPECT_EQ(failed.state, JobResult::State::crashed);
  EXPECT_EQ(failed.reason, "exit code 75: " + line);
  EXPECT_EQ(attempts(), 4U);
  EXPECT_EQ(warnings_, text("arm, seed 1: ended with exit code 75: ", line,
                            "; it starts again in 0.04 s, at most 3 times with growing pauses\n"
                            "arm, seed 1: ended with exit code 75: ",
                            line, "; its folder is ", run_.string(), "\n"));
}

TEST_F(JobSchedulerOfAScript, CountsAttemptsAfterTheLockOfAnotherFolder) {
  EXPECT_EQ(result(busy_script("elsewhere: locked by process 1; wait for it, or stop it")).state,
            JobResult::State::crashed);
  EXPECT_EQ(attempts(), 4U);
}

TEST_F(JobSchedulerOfAScript, FinishesARunOnceTheMachineIsFree) {
  const auto script =
      text("if [ $attempt -lt 3 ]; then\n", busy_script("out of memory"), "fi\n", kFinish);
  EXPECT_EQ(result(script).state, JobResult::State::finished) << warnings_;
  EXPECT_EQ(attempts(), 3U);
}

TEST_F(JobSchedulerOfAScript, RetriesACrashedRunOnce) {
  EXPECT_EQ(result("exit 70\n").state, JobResult::State::crashed);
  EXPECT_EQ(attempts(), 2U);
}

TEST_F(JobSchedulerOfAScript, KeepsOneCheckpointOfAFinishedRun) {
  for (const std::int64_t keep : {2, 3}) {
    fs::remove_all(run_);
    fs::create_directories(run_);
    {
      const store::Lock lock(run_);
      for (const std::int64_t step : {10, 20}) store::save_checkpoint(lock, {.step = step}, 2);
    }
    const auto wanted =
        keep == 2 ? std::vector<std::int64_t>{20} : std::vector<std::int64_t>{10, 20};
    EXPECT_EQ(result(kFinish, keep).state, JobResult::State::finished) << warnings_;
    EXPECT_EQ(store::checkpoint_steps(run_), wanted);
    {  // as in a pool of an older version
      const store::Lock lock(run_);
      for (const std::int64_t step : {10, 20}) store::save_checkpoint(lock, {.step = step}, 2);
    }
    EXPECT_EQ(result(kFinish, keep).state, JobResult::State::finished) << warnings_;
    EXPECT_EQ(store::checkpoint_steps(run_), wanted) << "of a run that was finished before";
  }
}

TEST_F(JobSchedulerOfAScript, LeavesTheCheckpointsOfALockedRun) {
  const store::Lock lock(run_);
  for (const std::int64_t step : {10, 20}) store::save_checkpoint(lock, {.step = step}, 2);
  EXPECT_EQ(remove_older_checkpoints(run_), "");
  EXPECT_EQ(store::checkpoint_steps(run_), (std::vector<std::int64_t>{10, 20}));
}

/// The message of a process that finds the run locked.
std::string message_of_lock(const fs::path& run) {
  const store::Lock lock(run);
  try {
    const store::Lock second(run);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(JobSchedulerOfAScript, WaitsForALockedRunWithoutALimitOfAttempts) {
  const auto message = message_of_lock(run_);
  const auto script = text("if [ $attempt -lt 7 ]; then\n", busy_script(message), "fi\n", kFinish);
  EXPECT_EQ(result(script).state, JobResult::State::finished) << warnings_;
  EXPECT_EQ(attempts(), 7U);
  EXPECT_EQ(warnings_, text("arm, seed 1 waits for another process: ", message, "\n"));
}

}  // namespace
}  // namespace evenkeel::study
