// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/runs/job_scheduler.h"
#include "evenkeel/study/runs/run_cache.h"

namespace evenkeel::study {

/// The cost of one run on this machine; the caller computes it, since this floor knows no models.
struct RunCost {
  std::int64_t parameters = 0, norm_parameters = 0;
  double memory_bytes = 0;       // peak
  double flops = 0;              // of the whole run
  double norms_share = 0;        // FLOPs of norms over those of products and attention
  double paper_norms_share = 0;  // the same as the paper counts it
  std::int64_t steps = 0;
  std::string precision;   // "bfloat16": what train.precision comes to here
  std::string arithmetic;  // precision, instructions, LibTorch: what bits depend on
};

struct StudyRequest {
  Study study;
  std::filesystem::path folder;  // of the study
  std::function<RunCost(const config::Config&)> cost;
  std::string provenance;      // version, commit, processor: what a time belongs to
  std::string command;         // that was given
  bool allow_changes = false;  // the study file may differ from the folder's
};

/// Runs what is missing of a study, tests its claims, and writes report.html, report.md and
/// runs.csv into its folder; the runs lie in the folder `pool` next to it. After a stop the report
/// has the runs that finished.
/// \throws Error (differs) if the folder is that of another study, or the file has changed;
///         Error (busy) if another process works on it; Error (io); as parse_study()
Results run_study(const StudyRequest& request, Resources resources, ProgressTable& progress_table);

/// What run_study() would run; nothing is started.
struct DryRun {
  std::size_t arms = 0, runs = 0, cached = 0;  // of the grid; already in the run cache
  std::size_t search_runs = 0;                 // runs of the search, most of them shorter
  std::size_t hypotheses = 0;                  // claims at their places
  double flops = 0, tokens = 0;                // of the grid
  double search_flops = 0;
  double minimum_detectable_effect = 0;  // at 80 % power; 0: one seed
  double max_bytes = 0;                  // of one run
  std::string largest_run;               // that run
};
/// \param resources  of which only `run_cache` and `cores` count
DryRun dry_run(const StudyRequest& request, const Resources& resources);

/// The folder of the run cache that holds a run of this study.
std::string run_cache_key(RunCacheKeys& cache_keys, const StudyRequest& request,
                          const Resources& resources, const config::Config& config,
                          const RunCost& cost);

}  // namespace evenkeel::study
