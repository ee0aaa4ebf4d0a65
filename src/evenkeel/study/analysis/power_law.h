// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// The 95 % prediction interval of the mean of new values at a size, from n values:
///   power_law().at(size) * exp(+- t s sqrt(1 / new_values + 1 / n + (x - X)^2 / S))
/// with x = ln size, X the mean of ln sizes, S their sum of squared deviations from X, s^2 = the
/// sum of squared residuals of ln values / (n - 2), and t the critical value of Student's t with
/// n - 2 degrees of freedom.
/// \param sizes, values  as of power_law()
/// \param size           above 0
/// \param new_values     at least 1
/// \return NaN with fewer than 3 values
/// \source Draper and Smith 1998, "Applied Regression Analysis", 3rd edition: intervals for
///         individual observations and means of q observations
Interval prediction_interval(const std::vector<double>& sizes, const std::vector<double>& values,
                             double size, std::size_t new_values = 1);

}  // namespace evenkeel::study
