// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// All figures of a study as HTML: differences from the baseline, at the end and over training,
/// loss curves, measure against numeric axes, scaling fits, probes.
std::string figures(const Results& results);

/// Points and fitted power laws on logarithmic axes, with their exponents; "" without fits.
std::string scaling_figure(const Results& results);

/// "pre_norm: 12.3 N^-0.076, 95 % interval of the exponent [-0.091, -0.061]"
std::string power_law_text(const PowerLawFit& fit);

}  // namespace evenkeel::study
