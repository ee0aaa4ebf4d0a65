// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The uncorrected verdicts of a claim of kind `further`: comparisons of the largest stable value
/// of the axis Claim::along between the arms Claim::of and Claim::than. One verdict per combination
/// of the remaining axes. p: sign test over seeds. The outcome does not depend on p yet;
/// not_measured if a run up to the first failure crashed or is missing.
std::vector<Verdict> max_trainable_verdicts(const Results& results, const Claim& claim);

}  // namespace evenkeel::study
