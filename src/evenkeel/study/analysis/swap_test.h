// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "evenkeel/study/analysis/statistics.h"

namespace evenkeel::study {

/// The test of a difference of Measure::Sweep::best. All seeds of a half share the x that the other
/// half chose, so that their differences are not independent. The arms are swapped in each subset
/// of the seeds (above 16 seeds in 4,999 random subsets), and the choice is repeated. p is the
/// share of swaps with a mean difference at least as large, as in sign_flip_p(). The interval has
/// the shifts between the losses of the arms that the test does not reject at 5 % (above 10 seeds
/// with 999 subsets). It rejects none below kSwapIntervalSeeds; the interval is then Student's t,
/// which lacks the true difference in 7 to 13 % of studies.
/// \param arm, reference  losses [seeds][x], at most the cap; two seeds or more
PairedDifference swap_test(const std::vector<std::vector<double>>& arm,
                           const std::vector<std::vector<double>>& reference);
inline constexpr std::size_t kSwapIntervalSeeds = 6;

}  // namespace evenkeel::study
