// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "evenkeel/study/runs/study_runner.h"

namespace evenkeel::study {

/// Seconds of a run that its FLOPs do not count: start of the process, checkpoints and report. Runs
/// of small models took 0.3 to 0.8 s.
inline constexpr double kSecondsARun = 0.5;

/// The runs that run_study() would execute, and their cost.
struct DryRun {
  std::size_t arms = 0, runs = 0, cached = 0;  // of the grid; cached: already finished
  std::size_t further_runs = 0;                // of Study::refine, before they are known expected
  std::size_t further_cached = 0;              // those of them that are finished
  std::size_t search_runs = 0;                 // runs of the search, most of them shortened
  std::size_t search_cached = 0;               // those of them that are finished
  std::size_t hypotheses = 0;                  // size of the Holm family of claims
  double flops = 0, tokens = 0;                // of the grid and the further runs
  double search_flops = 0;
  double minimum_detectable_effect = 0;  // at 80 % power; 0: one seed
  double max_bytes = 0;                  // largest peak memory of a run
  std::string largest_run;               // name of that run
  std::size_t largest_arm = 0;           // its place in grid_points()
  double checkpoint_bytes = 0;           // that the other runs keep, those of the search included
  double running_bytes = 0;              // of further checkpoints while runs train
  double cached_flops = 0;               // of the finished runs, those of the search included
  double cached_seconds = 0;             // that they took, one thread or more each

  int at_once = 1;  // runs that train at a time

  /// The runs without a result, those of the search included.
  std::size_t runs_left() const {
    return runs - cached + further_runs - further_cached + search_runs - search_cached;
  }
  bool is_finished() const { return runs_left() == 0; }
  /// hours_at() the speed of the finished runs; nullopt without a finished run.
  std::optional<double> hours() const;
  /// The free disk space that the other runs need.
  double disk_bytes() const { return checkpoint_bytes + running_bytes; }
  /// The hours that the other runs and the search take: their FLOPs at the rate, and kSecondsARun
  /// for each run.
  /// \param rate  FLOP/s of all runs that train at a time
  double hours_at(double rate) const;
};
/// "the checkpoints of the runs take 32.7 GiB, but 195 MiB are free on the disk of FOLDER; free
/// space, or name a folder on another disk with --run"; "" if they fit, or if the free space is
/// unknown.
/// \param run_cache  parent of the run folders
std::string disk_warning(const DryRun& plan, const std::filesystem::path& run_cache);
/// Computes the dry run. Starts no run. With a search, runs of the grid count as finished only if
/// the search of all arms is finished, because their learning rates are unknown before.
/// \param resources  only `run_cache`, `cores`, `device` and `memory_bytes` are used
DryRun dry_run(const StudyRequest& request, const Resources& resources);

}  // namespace evenkeel::study
