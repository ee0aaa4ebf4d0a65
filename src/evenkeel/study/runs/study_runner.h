// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/runs/job_scheduler.h"
#include "evenkeel/study/runs/run_cache.h"

namespace evenkeel::study {

/// The cost of one run on this machine. The caller computes it, because study/ does not depend on
/// nn/.
struct RunCost {
  std::int64_t parameters = 0, norm_parameters = 0;
  double memory_bytes = 0;       // peak, bytes
  double checkpoint_bytes = 0;   // of one checkpoint: weights and moments
  double flops = 0;              // of the whole run
  double norms_share = 0;        // norm FLOPs / (GEMM + attention FLOPs)
  double paper_norms_share = 0;  // nn::paper_norms_share()
  std::int64_t steps = 0;
  std::string precision;   // "bfloat16": train.precision, resolved on this machine
  std::string arithmetic;  // precision, instruction set, LibTorch: determines bits
};

struct StudyRequest {
  Study study;
  std::filesystem::path folder;  // folder of the study
  std::function<RunCost(const config::Config&)> cost;
  std::string provenance;        // version, commit, processor: the context of step times
  std::string command;           // command line of the user
  bool allow_changes = false;    // the study may differ from study.json of the folder
  bool is_worker = false;        // other workers train runs of the study at the same time
  double heartbeat_timeout = 0;  // of a worker: seconds without a heartbeat, RunLeases
};

/// Executes the missing runs of a study, tests its claims, and writes report.html, report.md and
/// runs.csv into its folder. Runs are stored in Resources::run_cache. After a stop the report
/// contains the finished runs. A worker trains the runs that no other worker has, waits for the
/// rest, and writes the report; after a stop it writes none.
/// \throws Error (differs) if the folder has another study, the file has changed, other workers
///         compute differently or read other texts or tasks, or one changed while the study ran;
///         (busy) if another process has locked the folder; (usage) for a worker of a study that
///         times its runs, and for a search whose values give one trial; (io)
Results run_study(const StudyRequest& request, Resources resources, ProgressTable& progress_table);

/// \throws Error (usage) for a study that times its runs, which need one machine for themselves
void check_is_for_workers(const Study& study);

/// Checks that the runs record the measures of the study, and that train.from is not set.
/// \throws Error (usage)
void check_runs(const Study& study, const std::vector<GridPoint>& arms);

/// The tokens of a run.
double run_tokens(const config::Config& config, const RunCost& cost);

/// The resolved model.init: "scheme: trunc_normal(0.02), attention.output x 1/sqrt(2*N)".
std::string init_of(const config::Config& config);

/// Arm::is_causal of a configuration.
bool is_causal(const config::Config& config);

/// The cache key of a run of this study: its folder in the run cache.
std::string run_cache_key(RunCacheKeys& cache_keys, const StudyRequest& request,
                          const Resources& resources, const config::Config& config,
                          const RunCost& cost);

}  // namespace evenkeel::study
