// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/chart.h"
#include "evenkeel/report/series.h"
#include "evenkeel/study/report/panels.h"

namespace evenkeel::study {

enum class Averaging { arithmetic, geometric };

/// The mean of several curves at their common x, with a band from minimum to maximum; a single
/// curve is returned unchanged.
report::Line mean_curve(const std::vector<report::Series>& curves, Averaging kind,
                        const CurveSpec& spec);

/// "Means over 3 seeds; bands reach from the least to the largest.", or a sentence for
/// single seeds.
/// \param counts  number of curves of each line
std::string bands_text(const std::vector<std::size_t>& counts, Averaging kind);

}  // namespace evenkeel::study
