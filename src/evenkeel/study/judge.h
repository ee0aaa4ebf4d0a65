// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/study/results.h"

namespace evenkeel::study {

/// Judges the claims and compares every arm with the baseline, from `study` and `arms`: fills
/// `verdicts`, `against_baseline` and `fits`. All p-values of the study are one family (Holm).
void judge(Results& results);

}  // namespace evenkeel::study
