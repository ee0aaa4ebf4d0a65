// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The uncorrected tests of a claim of the kind `further`: one verdict for each
/// combination of the axes that are neither named nor gone along, by a sign test over the seeds.
std::vector<Verdict> max_trainable_verdicts(const Results& results, const Claim& claim);

}  // namespace evenkeel::study
