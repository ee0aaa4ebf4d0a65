// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The probes of one run: a heat map for each measure, or its profile over the layers if a single
/// step was probed; "" without probes.
std::string layer_figures(const Run& run);

/// The profiles of several runs in common charts, one colour a scheme. Gradient norms are shown at
/// each step that all runs probed, with a table of their slopes and spreads; further measures at
/// the last such step. "" if fewer than two runs were probed at the same step.
std::string layer_comparison(const std::vector<Run>& runs);

}  // namespace evenkeel::report
