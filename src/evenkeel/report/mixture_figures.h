// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// What the routers of a mixture of experts did: the load of each expert of each block as a heat
/// map, and its balance over the steps. Empty for a dense model.
std::string mixture_figures(const Run& run);

}  // namespace evenkeel::report
