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

/// Starts a run, or goes on with one, until it is finished, stopped by a signal, or diverged.
/// Everything it finds out lies in the run folder afterwards (docs/run_folder.md).
Result train(const Request& request);

/// What the user reads at the end: the sample and where the report is.
std::string closing_words(const Result& result);

}  // namespace evenkeel::train
