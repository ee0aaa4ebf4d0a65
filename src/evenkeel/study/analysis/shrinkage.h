// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evenkeel/study/analysis/results.h"

namespace evenkeel::study {

/// Empirical-Bayes means of many estimates: the true values are normal with one mean and one
/// variance, and each estimate is normal around its true value. The best of many estimates is too
/// good on average, which shrinking corrects.
///   shrunken_i = mean + tau^2 / (tau^2 + e_i^2) (estimate_i - mean)
/// tau^2, the variance of the true values, is by Paule and Mandel; the mean is weighted by
/// 1 / (tau^2 + e_i^2). The errors count as known. Fewer than three estimates are returned as they
/// are, and so is an estimate without an error.
/// \param estimates  finite
/// \param errors     standard error of each estimate, at least 0
/// \source Efron and Morris 1975; Paule and Mandel 1982
std::vector<double> shrunken_means(const std::vector<double>& estimates,
                                   const std::vector<double>& errors);

/// Sets Verdict::shrunken of the comparisons with the baseline, for each baseline by itself, with
/// errors from the pooled deviation. Of ten comparisons or more, the deviation is the median one,
/// and differences beyond five deviations of their median stay as they are. Comparisons with one
/// baseline share its error, which shifts their common mean.
void shrink_differences(Results& results);

}  // namespace evenkeel::study
