// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The page of one run: state, curves, scheme, sample, health events, configuration, environment.
/// \param events  as in page()
std::string run_page(const Run& run, const std::string& events = "");

}  // namespace evenkeel::report
