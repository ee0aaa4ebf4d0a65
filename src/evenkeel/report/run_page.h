// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The page of one run: how it ended, its curves, its scheme, a sample, events, configuration and
/// environment.
std::string run_page(const Run& run);

}  // namespace evenkeel::report
