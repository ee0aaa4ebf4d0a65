// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// One self-contained HTML page: verdicts, the arms beside the baseline, figures, the paper's
/// figures beside ours, what makes the comparison fair, everything that repeats it. Equal results
/// give equal bytes but for the one element `<p class="times">`.
std::string html_report(const Results& results);

}  // namespace evenkeel::study
