// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/study_options.h"

#include "evenkeel/base/error.h"

namespace evenkeel::cli {

namespace {

/// True if there is an option besides --json.
bool has_options(const StudyOptions& options) {
  const auto& common = options.common;
  const bool has_words = !options.size.empty() || !options.seeds.empty() || !common.sets.empty() ||
                         common.device != "auto" || common.run || options.figures || options.from;
  const bool has_numbers = options.jobs > 0 || options.heartbeat_timeout > 0 || options.array > 0;
  return has_words || has_numbers || options.dry_run || options.strict || options.allow_changes ||
         options.workers || options.slurm || common.quiet;
}

void refuse_if(bool has_no_effect, const char* message) {
  if (has_no_effect) throw Error(Exit::usage, message);
}

}  // namespace

void check_study_options(const StudyOptions& options) {
  const auto& common = options.common;
  refuse_if(options.study.empty() && has_options(options),
            "every option but --json needs a study, but none is named; list them with: "
            "evenkeel study");
  refuse_if(options.from && (options.jobs > 0 || common.run || options.allow_changes ||
                             options.workers || options.heartbeat_timeout > 0 || options.slurm ||
                             options.array > 0 || !common.sets.empty() || common.device != "auto"),
            "--from trains nothing: leave out --set, --jobs, --run, --device, --override, "
            "--workers, --heartbeat-timeout, --slurm and --array");
  refuse_if(options.dry_run && (options.strict || options.allow_changes || options.workers ||
                                options.heartbeat_timeout > 0),
            "--dry-run starts no run: leave out --strict, --override, --workers and "
            "--heartbeat-timeout");
  refuse_if(options.slurm && (common.json || options.figures),
            "--slurm prints a script and no results: leave out --json and --figures");
  refuse_if(options.array > 0 && !options.slurm,
            "--array needs --slurm, which prints a Slurm job array; add --slurm");
  refuse_if(options.heartbeat_timeout > 0 && !options.workers && !options.slurm,
            "--heartbeat-timeout needs --workers or --slurm: no other process trains runs of "
            "this study; add --workers");
}

}  // namespace evenkeel::cli
