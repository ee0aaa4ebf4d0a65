// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/study_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

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
  EXPECT_DOUBLE_EQ(*plan.hours(), plan.cached_seconds / (1 + 6) / 2 / 3600);
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
  EXPECT_DOUBLE_EQ(plan.hours_at(1e6), 2 * kFlops / 1e6 / 3600);
  EXPECT_EQ(plan.at_once, 2);
  EXPECT_EQ(plan.running_bytes, 2 * 2 * kBytes + store::kCheckpointReserve);
  EXPECT_EQ(dry_run(request_of(kTimed, ""), resources).at_once, 1);
  const auto keeps = dry_run(request_of(std::string(kStudy) + kKeep, ""), resources);
  EXPECT_EQ(keeps.checkpoint_bytes, 2 * 5 * kBytes);
  const auto search = dry_run(request_of(std::string(kStudy) + kSearch, ""), resources);
  EXPECT_EQ(search.search_runs, 2U * (2 + 2));  // both values in both rungs
  EXPECT_EQ(search.checkpoint_bytes, (2 + 2 * (2 + 2)) * kBytes);
  EXPECT_DOUBLE_EQ(search.hours_at(1e6), 2 * (1 + 2 * 0.5 + 2 * 1) * kFlops / 1e6 / 3600);
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
