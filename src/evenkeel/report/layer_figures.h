// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The probes of one run: a heat map per measure, or its profile over layers if only one step was
/// probed; "" without probes.
std::string layer_figures(const Run& run);

/// The profiles of several runs in common charts, one colour per scheme. Gradient norms: at
/// probed steps that runs share, with a table of DepthTrend. Other measures: at the last such step.
/// "" if fewer than two runs were probed at the same step.
std::string layer_comparison(const std::vector<Run>& runs);

}  // namespace evenkeel::report
