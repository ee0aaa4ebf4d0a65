// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Charts of the measures over an axis (Measure::Kind::sweep) of claims and comparisons, against
/// each other numeric axis: the loss at the best learning rate against depth, the largest rate that
/// trains against depth. Means with 95 % intervals; the largest trainable value on a logarithmic
/// axis, as its geometric mean. Empty for a study without another numeric axis.
std::string sweep_figures(const Results& results);

}  // namespace evenkeel::study
