// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Whether a claim is tested by a sign test: how far or whether runs train.
bool uses_sign_test(const Claim& claim);

/// How many p-values the claims of a study have at most: those that are corrected together.
std::size_t hypothesis_count(const Study& study);

/// Corrects the p-values of all verdicts for how many there are (Holm): those of claims together,
/// and those of comparisons with the baseline that no claim asks for. A comparison that two claims
/// name counts once, and what is not measured yet counts, too. Says how many seeds each would need
/// at the strictest level of its family.
void correct_p_values(Results& results);

}  // namespace evenkeel::study
