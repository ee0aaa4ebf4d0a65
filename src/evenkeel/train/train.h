// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/train/open_run.h"

namespace evenkeel::train {

struct Result {
  Exit exit = Exit::done;
  std::filesystem::path folder;
};

/// Starts or resumes a run, until it is finished, stopped by a signal, or diverged.
/// All results are in the run folder (docs/run_folder.md).
Result train(const Request& request);

/// What the user reads at the end: the sample and where the report is.
std::string closing_text(const Result& result);

}  // namespace evenkeel::train
