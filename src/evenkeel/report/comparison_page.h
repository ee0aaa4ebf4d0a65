// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The page of several runs: a table sorted by validation loss, common charts, and the keys of the
/// configuration and of the environment that differ.
std::string comparison_page(std::vector<Run> runs);

}  // namespace evenkeel::report
