// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evenkeel::study {

/// Two-sided sign-flip test of paired differences. H0: each difference is as likely as its
/// negative. With T the sum of the differences:
///
///   p = (number of the 2^n assignments of signs with |T*| >= |T|) / 2^n
///
/// Sums that differ by rounding are ties, which count. So p is 1 if the sum is 0, if all
/// differences are 0, and for a single pair. The smallest p of n pairs is 2^(1 - n). 1 without
/// differences.
///
/// p is exact up to kExactFlipPairs pairs. Above, p is exact where all differences that are not 0
/// have one sign, and where each half of them has at most 2^(kExactFlipPairs / 2) different sums:
/// equal sizes, or small multiples of a unit. For all others, kRandomFlips assignments of a fixed
/// random stream and the observed one are counted, over their number: at least 1 / (kRandomFlips +
/// 1).
/// \param differences  finite
/// \source Fisher 1935, "The Design of Experiments", section 21
double sign_flip_p(const std::vector<double>& differences);

/// sign_flip_p(), and the smallest p that its method could give: 2^(1 - n) of the exact test of n
/// pairs, 1 / (kRandomFlips + 1) of random assignments.
struct SignFlipTest {
  double p = 1, smallest_p = 1;
};
SignFlipTest sign_flip_test(const std::vector<double>& differences);
inline constexpr std::size_t kExactFlipPairs = 40;
inline constexpr int kRandomFlips = 4'999;

/// The smallest p of the exact test of so many pairs, 2^(1 - n): all differ in one direction.
/// \param pairs  at least 1
double smallest_sign_flip_p(std::int64_t pairs);

/// The fewest pairs with which the sign-flip test can be significant at 5 %.
inline constexpr std::size_t kLeastFlipPairs = 6;

}  // namespace evenkeel::study
