// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The uncorrected verdicts of a claim of the kind `further`: does `of` train up to a larger value
/// of the axis `along` than `than`? One verdict for each combination of the remaining axes; p is
/// that of a sign test over the seeds. The outcome still ignores p; not_measured if a run is
/// missing.
std::vector<Verdict> max_trainable_verdicts(const Results& results, const Claim& claim);

}  // namespace evenkeel::study
