// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The page of several runs: a table sorted by validation loss, common charts, and the differing
/// keys of the configuration and the environment.
/// \param runs  two or more
/// \param events  as in page()
/// \param note  plain text below the verdict; may be empty
std::string comparison_page(std::vector<Run> runs, const std::string& events = "",
                            const std::string& note = "");

}  // namespace evenkeel::report
