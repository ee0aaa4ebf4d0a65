// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The routing of a mixture of experts: the load of each expert of each block as a heat map, and
/// the balance of the loads over the steps. "" for a dense model.
std::string mixture_figures(const Run& run);

}  // namespace evenkeel::report
