// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

/// Options of `study`. Without `study` it lists the catalogue.
struct StudyOptions {
  CommonOptions common;
  std::string study, size, seeds;  // "": the first size, the seeds of the TOML file
  int jobs = 0;                    // threads; 0: one per core
  bool dry_run = false, strict = false, allow_changes = false;
  bool workers = false;                          // this process is one of several workers
  int heartbeat_timeout = 0;                     // of a worker, seconds; 0: the default
  bool slurm = false;                            // print a Slurm job array of workers
  int array = 0;                                 // tasks of it; 0: one per run, up to a limit
  std::optional<std::filesystem::path> figures;  // folder for the figures as SVG
  std::optional<std::filesystem::path> from;     // a runs.csv to judge
};

/// \throws Error (usage) for an option without effect: with the other options, or without a study
void check_study_options(const StudyOptions& options);

}  // namespace evenkeel::cli
