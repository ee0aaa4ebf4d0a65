// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The difference of each arm to its baseline with the 95 % interval, a row an arm, from the lowest
/// to the highest; cut into figures that fit a printed page. "" without a baseline.
std::string forest_plot(const Results& results);

}  // namespace evenkeel::study
