// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace evenkeel::study {

/// Two-sided sign-flip test of paired differences. H0: each difference is as likely as its
/// negative. p is the share of all assignments of signs whose |mean| is at least the observed one.
/// It is exact up to kExactFlipPairs pairs; above, the share of kRandomFlips random assignments of
/// a fixed stream. The smallest p of n pairs is 2^(1 - n). 1 without differences.
/// \param differences  finite
/// \source Fisher 1935, "The Design of Experiments", section 21
double sign_flip_p(const std::vector<double>& differences);
inline constexpr std::size_t kExactFlipPairs = 32;
inline constexpr int kRandomFlips = 4'999;

/// The fewest pairs with which the sign-flip test can be significant at 5 %.
inline constexpr std::size_t kLeastFlipPairs = 6;

}  // namespace evenkeel::study
