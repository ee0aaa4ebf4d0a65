// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Tests the claims and compares every arm with the baseline, from `study` and `arms`: fills
/// `verdicts`, `baseline_verdicts` and `fits`. The p-values of claims are one family (Holm); those
/// of comparisons with the baseline that no claim asks for are another.
void analyze_claims(Results& results);

}  // namespace evenkeel::study
