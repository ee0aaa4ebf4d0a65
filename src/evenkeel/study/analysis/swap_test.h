// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "evenkeel/study/analysis/statistics.h"

namespace evenkeel::study {

/// The test of a difference of Measure::Sweep::best. All seeds of a half share the x that the other
/// half chose, so that their differences are not independent. The arms are swapped in each subset
/// of the seeds (above 12 seeds in 4,999 random subsets), and the choice is repeated. p is the
/// share of swaps with a mean difference at least as large, as in sign_flip_p().
///
/// The null hypothesis is that both arms have equal losses at every x, but for noise. The interval
/// consists of the shifts between the losses of the arms that the test does not reject at 5 %.
/// Where the arms have different best values it is wide: a swap then also changes the shape of the
/// curve. Below kSwapIntervalSeeds the test rejects nothing, and the interval is Student's t, which
/// does not cover the true difference in 8 to 11 % of studies.
/// \param arm, reference  losses [seeds][x], at most the cap; two seeds or more
PairedDifference swap_test(const std::vector<std::vector<double>>& arm,
                           const std::vector<std::vector<double>>& reference);
inline constexpr std::size_t kSwapIntervalSeeds = 6;  // 2^(1 - 6) < 0.05

}  // namespace evenkeel::study
