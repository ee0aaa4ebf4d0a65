// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/comm/group.h"
#include "evenkeel/train/open_run.h"

namespace evenkeel::train {

/// The outcome of a run.
struct Result {
  Exit exit = Exit::success;
  std::filesystem::path folder;  // the run folder
  bool is_complete = false;      // this call took the last step
};

/// Starts or resumes a run and trains until it is finished, stopped by a signal, or diverged. All
/// results are in the run folder (docs/run_folder.md). All ranks of a group call it; rank 0 writes
/// the results, and the other ranks write their pieces of checkpoints.
/// \param group  the ranks of this run
/// \throws Error of open_run() and Run; (diverged, exit code 76) when the budget of skipped steps
///         is used up
Result train(const Request& request, comm::Group& group);

/// The message after a run: the generated sample, and the path of the report.
/// \param quiet  without the sample, as after a run that was stopped or was finished before
std::string closing_text(const Result& result, bool quiet);

}  // namespace evenkeel::train
