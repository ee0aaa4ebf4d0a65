// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// What the page says, without its figures. Equal results give equal bytes but for the one line
/// that begins with "Time:".
std::string markdown_report(const Results& results);

}  // namespace evenkeel::study
