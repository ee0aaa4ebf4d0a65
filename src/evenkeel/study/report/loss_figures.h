// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// How many panels they show at most.
inline constexpr std::size_t kMaxLossPanels = 12;

/// Validation loss over steps, and its second half; the moving mean of the training loss where runs
/// were validated fewer than 3 times. Runs that did not finish are named, not drawn.
std::string loss_figures(const Results& results);

}  // namespace evenkeel::study
