// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// True for the kinds that a sign test decides: `trains`, `fails` and `further`.
bool uses_sign_test(const Claim& claim);

/// The largest number of p-values of the claims of a study: the size of their Holm family.
std::size_t hypothesis_count(const Study& study);

/// The claims that cannot be significant with the seeds of the study, or only where other claims
/// have smaller p-values, each with the reason: "claim 2 cannot be decided with 3 seeds: a sign
/// test needs 6 that all agree".
std::vector<std::string> undecidable_claims(const Study& study);

/// Adjusts the p-values of all claims by Holm's method, and separately those of the comparisons
/// with the baseline that no claim contains by the method of the study. A comparison in two claims
/// counts once. Pending claims count in the size of the family. Adjusts Verdict::sign_flip_p of
/// comparisons in the same families; it becomes p for sign tests, and NaN for `equivalent`, whose p
/// stays in the family. Also sets Verdict::required_seeds of sign tests, at the strictest level of
/// the family.
void correct_p_values(Results& results);

}  // namespace evenkeel::study
