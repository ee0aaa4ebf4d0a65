// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The arms of a claim with `than_at`, a difference of differences: "a - b (batch 1)" and "a - b
/// (batch 16)" of `of` = a, `than` = b, `at` = batch 1 and `than_at` = batch 16, for each
/// combination of the remaining axes. Their labels are those of the arm `of`. The value of a seed
/// (SeedRun::recorded) is the measure of `of` less that of `than`. A seed is missing where a run of
/// it is, and failed where one of both failed.
/// \param arms  of the grid, or of swept_arms()
std::vector<Arm> difference_arms(const Study& study, const std::vector<Arm>& arms,
                                 const Claim& claim);

}  // namespace evenkeel::study
