// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

/// Settings that a run changed at a resume, so that its run.toml alone does not give its weights.
namespace evenkeel::report {

/// Run::changes without those that leave the weights those of run.toml: free keys, and a longer run
/// whose schedule keeps its length.
std::vector<store::RunChange> settings_changes(const Run& run);

/// "at step 60 (schedule.peak 0.004 → 0.001)", in the order of the steps; "" without a change.
std::string settings_changes_text(const Run& run);

}  // namespace evenkeel::report
