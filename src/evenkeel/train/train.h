// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/train/open_run.h"

namespace evenkeel::train {

/// The outcome of a run.
struct Result {
  Exit exit = Exit::done;
  std::filesystem::path folder;  // of the run
};

/// Starts or resumes a run, until it is finished, stopped by a signal, or diverged.
/// All results are in the run folder (docs/run_folder.md).
/// \throws Error as open_run() and Run do; Error (diverged) when too many steps were skipped
Result train(const Request& request);

/// The text after a run: the generated sample, and the path of the report.
std::string closing_text(const Result& result);

}  // namespace evenkeel::train
