// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// What probes saw, over the layers: gradient flow at the first and the last probed step, attention
/// entropy and token similarity at the last, and gradient flow over layers and steps as heat maps
/// where more than 3 steps were probed. "" without probes.
std::string profile_figures(const Results& results);

}  // namespace evenkeel::study
