// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// A forest plot: one row per arm with its difference from the baseline and the 95 % interval,
/// lowest first; split into figures that fit a printed page. "" without a baseline.
std::string forest_plot(const Results& results);

}  // namespace evenkeel::study
