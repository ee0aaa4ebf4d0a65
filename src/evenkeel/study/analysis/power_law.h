// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/statistics.h"

namespace evenkeel::study {

/// value = factor * size^-exponent, fitted by least squares in log-log space (relative residuals).
/// Unlike in Chinchilla fits, there is no irreducible loss.
struct PowerLaw {
  double factor = 0, exponent = 0;
  Interval exponent_interval;  // 95 %, Student's t of the residuals; NaN with fewer than 3 points

  /// The fitted value.
  /// \param size  above 0
  double at(double size) const;
};

/// Fits a power law.
/// \param sizes, values  above 0, finite, of equal length; at least two different sizes
PowerLaw power_law(const std::vector<double>& sizes, const std::vector<double>& values);

}  // namespace evenkeel::study
