// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// The content of html_report() as Markdown, without figures. Equal results give equal bytes,
/// except in the line that begins with "Time:".
std::string markdown_report(const Results& results);

}  // namespace evenkeel::study
