// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

/// The own schemes of a grid, in the order of its arms. Texts of the catalogue have the words of
/// config::with_released_titles(), so that a reworded title changes no study.
/// \throws as config_of()
std::vector<OwnScheme> own_schemes(const Study& study, const std::vector<GridPoint>& arms);

}  // namespace evenkeel::study
