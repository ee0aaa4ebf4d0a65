// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The sources of a mixture: the validation loss of each over steps, and a table of their tokens,
/// shares and last validation losses. "" for one source.
std::string source_figures(const Run& run);

}  // namespace evenkeel::report
