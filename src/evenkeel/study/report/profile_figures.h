// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Profiles of probes over layers: gradient norms at the first and the last probed step, attention
/// entropy and token similarity at the last. With more than 3 probed steps also heat maps of
/// gradient norms over layers and steps. "" without probes.
std::string profile_figures(const Results& results);

}  // namespace evenkeel::study
