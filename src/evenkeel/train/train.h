// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/train/open_run.h"

namespace evenkeel::train {

/// The outcome of a run.
struct Result {
  Exit exit = Exit::success;
  std::filesystem::path folder;  // the run folder
};

/// Starts or resumes a run and trains until it is finished, stopped by a signal, or diverged. All
/// results are in the run folder (docs/run_folder.md).
/// \throws Error of open_run() and Run; (diverged, exit code 76) when the budget of skipped steps
///         is used up
Result train(const Request& request);

/// The message after a run: the generated sample and the path of the report.
std::string closing_text(const Result& result);

}  // namespace evenkeel::train
