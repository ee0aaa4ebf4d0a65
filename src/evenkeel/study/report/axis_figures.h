// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// For each axis of numbers the measure against it: learning-rate basins, loss against depth. Means
/// with 95 % intervals; failed runs are crosses at the upper edge. The axis is logarithmic if it is
/// a peak rate or spans a factor of 8.
std::string axis_figures(const Results& results);

}  // namespace evenkeel::study
