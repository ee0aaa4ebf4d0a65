// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// True for the kinds that a sign test decides: `trains`, `fails` and `further`.
bool uses_sign_test(const Claim& claim);

/// The largest number of p-values of the claims of a study: the size of their Holm family.
std::size_t hypothesis_count(const Study& study);

/// Holm-adjusts the p-values of all claims, and separately of the comparisons with the baseline
/// that no claim contains. A comparison in two claims counts once. Pending claims count in the size
/// of the family. Also sets Verdict::required_seeds at the strictest level of the family.
void correct_p_values(Results& results);

}  // namespace evenkeel::study
