// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The routing of a mixture of experts: a heat map of the load per expert and layer, and the load
/// balance over steps. "" for a dense model.
std::string mixture_figures(const Run& run);

}  // namespace evenkeel::report
