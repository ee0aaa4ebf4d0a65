// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

/// What Study::refine tries next, for each group of arms that differ on its axis only: while the
/// value with the lowest mean loss is at an end, one beyond it, Refinement::extend of them at most;
/// then values_between() it and its neighbours. A failed run counts as Study::fails_above, or as
/// infinity without it.
/// \param points  of the grid
/// \param results  with the arms that were run
/// \return empty if nothing is left, or for a group with a run that is missing or crashed
std::vector<GridPoint> further_points(const std::vector<GridPoint>& points, const Results& results);

}  // namespace evenkeel::study
