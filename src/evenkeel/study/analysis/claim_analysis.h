// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Tests the claims and compares every arm with the baseline. Reads Results::study and
/// Results::arms; sets Results::verdicts, baseline_verdicts and fits. The p-values of claims form
/// one family; comparisons with the baseline that no claim contains form another.
void analyze_claims(Results& results);

}  // namespace evenkeel::study
