// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::report {

/// The exact sign test, two-sided. H0: both sides win equally often. Ties are excluded.
/// \param count, other_count  wins of the two sides
double sign_test_p(std::int64_t count, std::int64_t other_count);

/// Two models on the same documents: the difference of their accuracies.
struct AccuracyDifference {
  std::int64_t documents = 0;
  std::int64_t only_first = 0, only_second = 0;  // documents that one model alone has right
  double difference = 0;                         // accuracy of the first minus that of the second
  double standard_error = 0;                     // of the difference, paired by document
  double p = 1;                                  // exact two-sided McNemar test of no difference

  /// The ends of the 95 % interval: difference -+ 1.96 standard errors after b + 1/2, c + 1/2, n +
  /// 2, so that few documents do not give an interval of no width.
  double low() const;
  double high() const;
};

/// Compares two lists of correct answers, document by document.
///
///   difference = (b - c) / n,  standard error = sqrt(b + c - (b - c)^2 / n) / n
///
/// with b documents that only the first model has right and c that only the second has; p is that
/// of the sign test of b and c.
/// \param first, second  of one length, not empty
/// \source McNemar 1947, doi:10.1007/BF02295996; Agresti, Categorical Data Analysis, section 11.1;
/// Agresti and
///         Min 2005, doi:10.1002/sim.1781 (interval)
AccuracyDifference accuracy_difference(const std::vector<bool>& first,
                                       const std::vector<bool>& second);

}  // namespace evenkeel::report
