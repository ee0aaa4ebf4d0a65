// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/study/job_scheduler.h"
#include "evenkeel/study/pool.h"
#include "evenkeel/study/results.h"

namespace evenkeel::study {

/// What a configuration takes on this machine; asked of the floors that know models.
struct Need {
  std::int64_t parameters = 0, norm_parameters = 0;
  double bytes = 0;              // of memory
  double flops = 0;              // of the whole run
  double norms_share = 0;        // FLOPs of norms over those of products and attention
  double paper_norms_share = 0;  // the same as the paper counts it
  std::int64_t steps = 0;
  std::string precision;   // "bfloat16": what train.precision comes to here
  std::string arithmetic;  // precision, instructions, LibTorch: what bits depend on
};

struct Wish {
  Study study;
  std::filesystem::path folder;  // of the study
  std::function<Need(const config::Config&)> need;
  std::string program;      // version, commit, processor: what a time belongs to
  std::string command;      // that was given
  bool takes_over = false;  // a changed study file is welcome
};

/// Runs what is missing of a study, judges, and writes report.html, report.md and runs.csv into its
/// folder; the runs lie in `pool` beside it. Also after a stop, with what is there.
/// \throws Error (differs) if the folder is that of another study, or the file has changed;
///         Error (busy) if another process has it in work; Error (io); as read_study()
Results conduct(const Wish& wish, Resources resources, ProgressTable& progress_table);

/// What it would run: nothing is started.
struct Outlook {
  std::size_t arms = 0, runs = 0, there = 0;  // of the grid; already in the pool
  std::size_t searches = 0;                   // runs of the search, most of them shorter
  std::size_t questions = 0;                  // claims at their places
  double flops = 0, tokens = 0;               // of the grid
  double search_flops = 0;
  double told_effect = 0;  // the least that the seeds tell apart (80 %); 0: none
  double most_bytes = 0;   // of one run
  std::string largest;     // that run
};
/// \param means  of which only `pool` and `cores` count
Outlook outlook(const Wish& wish, const Resources& resources);

/// The folder of the pool that holds a run of this study.
std::string key_of(Addresses& addresses, const Wish& wish, const Resources& resources,
                   const config::Config& config, const Need& need);

}  // namespace evenkeel::study
