// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The tasks of a run: a table of the last scores with standard error and chance level, and curves
/// over steps. "" without tasks.
std::string task_figures(const Run& run);

/// The losses of a run on evaluate.texts, over steps. "" without them.
std::string text_figures(const Run& run);

/// The tasks of several runs: a table task x run, and the difference of each run to the first,
/// paired by document. "" without tasks.
std::string task_comparison(const std::vector<Run>& runs);

}  // namespace evenkeel::report
