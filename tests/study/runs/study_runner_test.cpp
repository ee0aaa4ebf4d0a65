// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/study_runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "evenkeel/base/file.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/runs/dry_run.h"

namespace evenkeel::study {
namespace {

namespace fs = std::filesystem;

StudyRequest request_of(const std::string& toml, const std::string& provenance) {
  return {.study = parse_study(toml, "my.toml", ""),
          .folder = {},
          .cost =
              [](const config::Config&) {
                return RunCost{.steps = 4, .precision = "float32", .arithmetic = "float32 avx2"};
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
const std::string kTimed = std::string("alone = true\n") + kStudy;

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
    const auto run = run_cache / first_run_key(request);
    fs::create_directories(run);
    write_file(run / "run.toml", "");
    write_file(run / "status.json", "{\"state\": \"finished\", \"step\": 20}");
    write_file(run / "metrics.jsonl", "{\"step\": 20, \"val_loss\": 1}\n");
    const auto plan = dry_run(request, resources);
    EXPECT_EQ(plan.runs, 2U);
    EXPECT_EQ(plan.cached, 1U) << toml;
  }
}

}  // namespace
}  // namespace evenkeel::study
