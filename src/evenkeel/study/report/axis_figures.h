// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Charts of the measure against each numeric axis: learning-rate sweeps, loss against depth. Means
/// with 95 % intervals; failed runs are crosses at the upper edge. The x axis is logarithmic for a
/// peak learning rate, or for values that span a factor of 8.
std::string axis_figures(const Results& results);

}  // namespace evenkeel::study
