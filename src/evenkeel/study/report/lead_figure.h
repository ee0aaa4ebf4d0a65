// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Validation losses less those of the baseline after Study::loss_shares of the steps, with 95 %
/// intervals, paired by seed; "" without these shares, without a baseline, and for files of runs
/// that do not have them.
std::string lead_figure(const Results& results);

}  // namespace evenkeel::study
