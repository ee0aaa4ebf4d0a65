// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "evenkeel/study/analysis/results.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

/// Whether the keys may have the values of a point.
using Accepts = std::function<bool(const Study& study, const GridPoint& point)>;

/// What Study::refine tries next, for each group of arms that differ on its axis only: while the
/// value with the lowest mean loss is at an end, one beyond it, Refinement::extend of them at most;
/// then values_between() it and its neighbours. A loss counts at most Refinement::cap, as that of a
/// failed run.
/// \param points  of the grid
/// \param results  with the arms that were run
/// \param accepts  values that it refuses are left out
/// \return empty if nothing is left; nothing for a group with a run that is missing or crashed, or
///         whose losses all reach the cap
std::vector<GridPoint> further_points(const std::vector<GridPoint>& points, const Results& results,
                                      const Accepts& accepts = is_accepted);

/// Checks that the key may have values between those of the grid. \throws Error (usage)
void check_further_values(const Study& study, const std::vector<GridPoint>& points);

/// The further points of a study whose best values are inside of the grid.
/// \param points  of the grid
std::size_t expected_further_points(const Study& study, const std::vector<GridPoint>& points);

}  // namespace evenkeel::study
