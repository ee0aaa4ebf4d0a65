// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The largest number of panels.
inline constexpr std::size_t kMaxLossPanels = 12;

/// Validation loss over all steps and over the second half; the moving mean of the training loss if
/// runs have fewer than 3 evaluations. Unfinished runs are named, not drawn.
std::string loss_figures(const Results& results);

}  // namespace evenkeel::study
