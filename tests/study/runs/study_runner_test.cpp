// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/study_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/runs/dry_run.h"
#include "evenkeel/study/runs/study_jobs.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

constexpr double kBytes = 1e6;  // of a checkpoint
constexpr double kFlops = 6e9;  // of a run
constexpr std::int64_t kSteps = 4;

StudyRequest request_of(const std::string& toml, const std::string& provenance) {
  return {.study = parse_study(toml, "my.toml", ""),
          .folder = {},
          .cost =
              [](const config::Config& config) {
                const auto steps = std::min<std::int64_t>(kSteps, config.train.steps);
                return RunCost{.checkpoint_bytes = kBytes,
                               .flops = kFlops * static_cast<double>(steps) / kSteps,
                               .steps = steps,
                               .precision = "float32",
                               .arithmetic = "float32 avx2"};
              },
          .provenance = provenance,
          .command = {}};
}

/// The run cache key of the first run of a study.
std::string first_run_key(const StudyRequest& request, int cores = 2) {
  static RunCacheKeys cache_keys;  // the built-in text is made once
  const auto config = config_of(request.study, grid_points(request.study).front(), 1, {});
  return run_cache_key(cache_keys, request, {.cores = cores}, config, request.cost(config));
}

constexpr const char* kStudy = "seeds = [1]\n[grid]\nscheme = [\"pre_norm\", \"keel\"]\n";
constexpr const char* kKeep = "[settings]\ncheckpoint.keep = 5\n";
constexpr const char* kSearch =
    "[tune]\nkey = \"schedule.peak\"\nvalues = [1e-3, 2e-3]\nrungs = [0.5, 1]\nextend = 0\n";
const std::string kTimed = std::string("alone = true\n") + kStudy;

/// Writes a run folder with a result.
void finish_run(const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "run.toml", "");
  write_file(folder / "status.json", R"({"state": "finished", "step": 20})");
  write_file(folder / "metrics.jsonl",
             "{\"step\": 20, \"loss\": 1, \"step_s\": 0.5}\n{\"step\": 20, \"val_loss\": 1}\n");
}

TEST(RunCacheKey, OfATimedRunDependsOnProgramAndMachine) {
  const auto usual = first_run_key(request_of(kTimed, "evenkeel (abc) on one"));
  EXPECT_EQ(first_run_key(request_of(kTimed, "evenkeel (abc) on one")), usual);
  EXPECT_NE(first_run_key(request_of(kTimed, "evenkeel (def) on one")), usual);
  EXPECT_NE(first_run_key(request_of(kTimed, "evenkeel (abc) on another")), usual);
  EXPECT_NE(first_run_key(request_of(kTimed, "evenkeel (abc) on one"), 4), usual);
}

TEST(RunCacheKey, OfOtherRunsDependsOnNeither) {
  const auto usual = first_run_key(request_of(kStudy, "evenkeel (abc) on one"));
  EXPECT_EQ(first_run_key(request_of(kStudy, "evenkeel (def) on another"), 4), usual);
}

TEST(DryRun, CountsTheRunsInTheCache) {
  const auto run_cache = fs::path(::testing::TempDir()) / "dry_run";
  for (const auto* const toml : {kStudy, kTimed.c_str()}) {
    fs::remove_all(run_cache);
    const auto request = request_of(toml, "evenkeel (abc) on one");
    const Resources resources{.run_cache = run_cache, .cores = 2};
    EXPECT_EQ(dry_run(request, resources).cached, 0U);
    finish_run(run_cache / first_run_key(request));
    const auto plan = dry_run(request, resources);
    EXPECT_EQ(plan.runs, 2U);
    EXPECT_EQ(plan.cached, 1U) << toml;
    EXPECT_EQ(plan.checkpoint_bytes, kBytes) << "of the other run";
  }
}

TEST(DryRun, CountsTheFinishedRunsOfASearch) {
  const auto run_cache = fs::path(::testing::TempDir()) / "dry_run_search";
  fs::remove_all(run_cache);
  const auto request = request_of(std::string(kStudy) + kSearch, "");
  const Resources resources{.run_cache = run_cache, .cores = 2};
  StudyJobs jobs(request, resources);
  const auto search = [&](bool all) {  // finishes all trials, or the first one alone
    return jobs.search([&](const std::vector<Job>& trials) {
      std::map<std::string, JobResult> results;
      for (const auto& job : trials) {
        const bool runs = all || results.empty();
        if (runs) finish_run(run_cache / job.key);
        results[job.key].state = runs ? JobResult::State::finished : JobResult::State::not_run;
      }
      return results;
    });
  };
  EXPECT_TRUE(search(false).empty());
  auto plan = dry_run(request, resources);
  EXPECT_EQ(plan.search_cached, 1U);
  EXPECT_EQ(plan.checkpoint_bytes, (2 + 2 * (2 + 2) - 1) * kBytes);
  const auto searched = search(true);
  const auto grid_run = jobs.job("", jobs.grid_config(searched, 0, 1));
  finish_run(run_cache / grid_run.key);
  plan = dry_run(request, resources);
  EXPECT_EQ(plan.search_cached, plan.search_runs);
  EXPECT_EQ(plan.cached, 1U);
  EXPECT_EQ(plan.runs, 2U);
  EXPECT_EQ(plan.checkpoint_bytes, kBytes);
  ASSERT_TRUE(plan.hours().has_value());
  // Finished: one run of the grid, and 2 x (2 x 0.5 + 2) in the search. Two train at a time.
  EXPECT_EQ(plan.runs_left(), 1U);
  EXPECT_DOUBLE_EQ(*plan.hours(), (plan.cached_seconds / (1 + 6) + kSecondsARun) / 2 / 3600);
}

/// The message of a dry run that is refused; "" if it is not.
std::string refusal_of_search(const std::string& tune) {
  const auto request = request_of(std::string(kStudy) + tune, "");
  try {
    dry_run(request, {.run_cache = fs::path(::testing::TempDir()) / "no_pool", .cores = 2});
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), ": ", error.what());
  }
  return "";
}

// A trial is evaluated at its end only.
TEST(StudyJobs, RefuseASearchWhoseValuesGiveOneTrial) {
  EXPECT_EQ(refusal_of_search("[tune]\nkey = \"evaluate.every\"\nvalues = [1, 2]\n"),
            "64: study my: tune.key must change the trials of the search, but all values of "
            "evaluate.every give arm pre_norm one trial in the last rung (a trial is evaluated at "
            "its end only, and its warm-up is at most half of its steps); search another key or "
            "other values, or leave [tune] out");
  const std::string warmup = "[tune]\nkey = \"schedule.warmup\"\nrungs = [1]\nextend = 0\n";
  EXPECT_EQ(refusal_of_search(warmup + "values = [1, 3]\n"), "");  // of 4 steps: 1 and 2
  EXPECT_NE(refusal_of_search(warmup + "values = [3, 4]\n"), "");
  EXPECT_EQ(refusal_of_search(kSearch), "");
}

TEST(DryRun, CountsTheTrialsThatEqualOnesKeep) {
  const auto run_cache = fs::path(::testing::TempDir()) / "dry_run_equal_trials";
  fs::remove_all(run_cache);
  const auto request = request_of(std::string(kStudy) +
                                      "[tune]\nkey = \"schedule.warmup\"\nvalues = [0, 1, 2, "
                                      "3]\nrungs = [0.5, 1]\nextend = 0\n",
                                  "");
  const Resources resources{.run_cache = run_cache, .cores = 2};
  EXPECT_EQ(dry_run(request, resources).search_runs, 2U * (4 + 2));
  StudyJobs jobs(request, resources);
  std::size_t trials = 0;
  jobs.search([&](const std::vector<Job>& rung) {
    std::map<std::string, JobResult> results;
    for (const auto& job : rung) {
      finish_run(run_cache / job.key);
      results[job.key].state = JobResult::State::finished;
    }
    trials += rung.size();
    return results;
  });
  EXPECT_EQ(trials, 2U * (4 + 4));  // warm-ups of 1, 2 and 3 are 1 of 2 steps, and all are equal
  const auto plan = dry_run(request, resources);
  EXPECT_EQ(plan.search_runs, trials);
  EXPECT_EQ(plan.search_cached, trials);
}

// Another value may be the best one, so no run of the grid may use the chosen one.
TEST(StudyJobs, LeaveTheRunsOfACrashedSearchMissing) {
  const auto run_cache = fs::path(::testing::TempDir()) / "crashed_trial";
  fs::remove_all(run_cache);
  const auto request = request_of(std::string(kStudy) + kSearch, "");
  const Resources resources{.run_cache = run_cache, .cores = 2};
  StudyJobs jobs(request, resources);
  std::string crashed;
  const auto searched = jobs.search([&](const std::vector<Job>& trials) {
    std::map<std::string, JobResult> results;
    for (const auto& job : trials) {
      if (crashed.empty()) crashed = job.key;
      const bool is_first = job.key == crashed;
      if (!is_first) finish_run(run_cache / job.key);
      results[job.key].state = is_first ? JobResult::State::crashed : JobResult::State::finished;
    }
    return results;
  });
  const auto arm = jobs.arm(searched, 0, {});
  EXPECT_TRUE(arm.has_crashed_trial);
  EXPECT_EQ(arm.seed_runs.at(0).state, SeedRun::State::missing);
  EXPECT_EQ(
      arm.seed_runs.at(0).reason,
      "a trial of the search crashed: schedule.peak 0.001, 0.5 of the steps, folder " + crashed);
  EXPECT_EQ(find_crashed_trial(searched.at(1)), nullptr);
}

/// Finishes each run at once, but for those of pre_norm, which crash.
constexpr const char* kCrashOfPreNorm = R"(#!/bin/sh
case $6 in */pre_norm-*) exit 70 ;; esac
mkdir -p $6
echo > $6/run.toml
echo '{"step": 20, "loss": 1, "step_s": 0.5}' > $6/metrics.jsonl
echo '{"step": 20, "val_loss": 1}' >> $6/metrics.jsonl
echo '{"state": "finished", "step": 20}' > $6/status.json
)";

TEST(StudyRunner, CountsNoRunOfAnArmThatWaitsForACrashedTrial) {
  const auto root = fs::path(::testing::TempDir()) / "waiting_arm";
  fs::remove_all(root);
  fs::create_directories(root);
  write_file(root / "program", kCrashOfPreNorm);
  fs::permissions(root / "program", fs::perms::owner_all);
  auto request = request_of(
      text("seeds = [1, 2]\nbaseline = { scheme = \"pre_norm\" }\n",
           "[grid]\nscheme = [\"pre_norm\", \"keel\"]\n[[claims]]\nsays = \"keel is better\"\n",
           "of = { scheme = \"keel\" }\nthan = { scheme = \"pre_norm\" }\n", kSearch),
      "");
  request.folder = root / "study";
  ProgressTable progress_table(true);
  ::testing::internal::CaptureStderr();
  const auto results = run_study(request,
                                 {.executable = root / "program",
                                  .run_cache = root / "pool",
                                  .cores = 2,
                                  .stop_requested = [] { return false; }},
                                 progress_table);
  const auto warnings = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(results.is_complete);
  EXPECT_TRUE(results.arms.at(0).has_crashed_trial) << warnings;
  EXPECT_EQ(results.arms.at(1).seed_runs.at(0).state, SeedRun::State::finished) << warnings;
  // Two values in two rungs of both arms, and two runs of keel.
  EXPECT_EQ(progress_table.last_progress().total, 2U * 2 * 2 + 2);
  EXPECT_EQ(progress_table.last_progress().failed, 4U) << "trials of pre_norm";
}

TEST(DryRun, CountsTheRunsNearTheBestValues) {
  const auto run_cache = fs::path(::testing::TempDir()) / "dry_run_refine";
  fs::remove_all(run_cache);
  const auto request = request_of(
      "seeds = [1]\n[grid]\nscheme = [\"pre_norm\", \"keel\"]\nschedule.peak = [1e-3, 2e-3, 4e-3]\n"
      "[refine]\nover = \"schedule.peak\"\nextend = 0\n"
      "[[claims]]\nsays = \"x\"\nof = { scheme = \"keel\" }\nthan = { scheme = \"pre_norm\" }\n"
      "measure = { over = \"schedule.peak\", as = \"best\", cap = 9 }\n",
      "");
  const Resources resources{.run_cache = run_cache, .cores = 2};
  auto plan = dry_run(request, resources);
  EXPECT_EQ(plan.runs, 6U);
  EXPECT_EQ(plan.further_runs, 2U * 2);
  EXPECT_DOUBLE_EQ(plan.flops, 10 * kFlops);
  StudyJobs jobs(request, resources);
  const auto finish = [&](std::size_t arm) {
    finish_run(run_cache / jobs.job("", jobs.grid_config({}, arm, 1)).key);
  };
  for (std::size_t arm = 0; arm < 6; ++arm) finish(arm);
  plan = dry_run(request, resources);  // all losses are equal, so the best value is the first one
  EXPECT_EQ(plan.further_runs, 2U);
  EXPECT_EQ(plan.cached, 6U);
  EXPECT_FALSE(plan.is_finished());
  for (const std::size_t arm : {0U, 3U})
    jobs.add_arms({with_value(request.study, jobs.arms()[arm], "schedule.peak", "0.00141")});
  for (const std::size_t arm : {6U, 7U}) finish(arm);
  plan = dry_run(request, resources);
  EXPECT_EQ(plan.runs, 6U);
  EXPECT_EQ(plan.further_cached, 2U);
  EXPECT_TRUE(plan.is_finished());
}

TEST(DryRun, SaysTheTimeAndTheDiskOfTheOtherRuns) {
  const auto run_cache = fs::path(::testing::TempDir()) / "dry_run_disk";
  fs::remove_all(run_cache);
  const Resources resources{.run_cache = run_cache, .cores = 2};
  const auto plan = dry_run(request_of(kStudy, ""), resources);
  EXPECT_EQ(plan.checkpoint_bytes, 2 * kBytes);  // of two runs that keep one each
  EXPECT_EQ(plan.at_once, 2);
  EXPECT_EQ(kSecondsARun, 0.5);
  EXPECT_DOUBLE_EQ(plan.hours_at(1e6), (2 * kFlops / 1e6 + 2 * kSecondsARun / 2) / 3600);
  EXPECT_EQ(plan.running_bytes, 2 * 2 * kBytes + store::kCheckpointReserve);
  EXPECT_EQ(dry_run(request_of(kTimed, ""), resources).at_once, 1);
  const auto keeps = dry_run(request_of(std::string(kStudy) + kKeep, ""), resources);
  EXPECT_EQ(keeps.checkpoint_bytes, 2 * 5 * kBytes);
  const auto search = dry_run(request_of(std::string(kStudy) + kSearch, ""), resources);
  EXPECT_EQ(search.search_runs, 2U * (2 + 2));  // both values in both rungs
  EXPECT_EQ(search.checkpoint_bytes, (2 + 2 * (2 + 2)) * kBytes);
  EXPECT_DOUBLE_EQ(search.hours_at(1e6),
                   (2 * (1 + 2 * 0.5 + 2 * 1) * kFlops / 1e6 + (2 + 8) * kSecondsARun / 2) / 3600);
}

TEST(DryRun, WarnsOfADiskThatIsTooSmall) {
  const auto nowhere = fs::path(::testing::TempDir()) / "no" / "such" / "folder";
  EXPECT_EQ(disk_warning({.checkpoint_bytes = 1}, nowhere), "");
  const auto warning = disk_warning({.checkpoint_bytes = 1e18}, nowhere);
  EXPECT_TRUE(warning.starts_with("the checkpoints of the runs take 909494.7 TiB, but "))
      << warning;
  EXPECT_TRUE(warning.ends_with(" are free on the disk of " + nowhere.string() +
                                "; free space, or name a folder on another disk with --run"))
      << warning;
  EXPECT_EQ(disk_warning({.checkpoint_bytes = 1, .running_bytes = 1}, nowhere), "");
  EXPECT_NE(disk_warning({.checkpoint_bytes = 1, .running_bytes = 1e18}, nowhere), "");
}

}  // namespace
}  // namespace evenkeel::study
