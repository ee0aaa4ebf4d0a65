// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// What the probes of one run saw: a heat map a measure, or its profile where one step was probed;
/// "" if there are none.
std::string layer_figures(const Run& run);

/// The profiles of several runs beside one another, a colour a scheme: gradient flow at each probed
/// step they share, with its slopes and spreads as a table, the other measures at the last such
/// step; "" if fewer than two runs were probed at the same step.
std::string layer_comparison(const std::vector<Run>& runs);

}  // namespace evenkeel::report
