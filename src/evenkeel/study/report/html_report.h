// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// One self-contained HTML page: verdicts, arms compared with the baseline, figures, comparison
/// with published numbers, confounders, command and provenance. Equal results give equal bytes,
/// except in the element `<p class="times">`.
std::string html_report(const Results& results);

}  // namespace evenkeel::study
