// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Validation losses less those of the baseline after Study::loss_shares of the steps, with 95 %
/// intervals, paired by seed; "" without these shares or without a baseline.
std::string lead_figure(const Results& results);

}  // namespace evenkeel::study
