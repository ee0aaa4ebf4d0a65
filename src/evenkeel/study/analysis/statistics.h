// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// Paired statistics for small numbers of seeds. Run i of each arm reads the same data in the same
/// order.
#include "evenkeel/report/accuracy_difference.h"

namespace evenkeel::study {

/// The significance level of all tests: p below it is significant.
inline constexpr double kSignificanceLevel = 0.05;

struct Interval {
  double low = 0, high = 0;
};

/// The test of a mean difference (study key `test`).
enum class DifferenceTest { student_t, bootstrap };

/// The mean of paired differences with its 95 % interval and p-value.
struct PairedDifference {
  std::int64_t pairs = 0;
  double mean = 0;
  double standard_deviation = 0;  // of the differences, divisor pairs - 1
  Interval interval;              // 95 % interval of the mean
  double p = 1;                   // two-sided, H0: mean = 0
  double sign_flip_p = 1;         // sign_flip_p() of the same differences
  double effect_size = 0;         // mean / standard_deviation (Cohen's d_z); 0 if all
                                  // differences are 0, infinite if they are equal and not 0
  DifferenceTest test =
      DifferenceTest::student_t;    // of `interval`, and of `p` but of max_trainable
  double smallest_sign_flip_p = 0;  // SignFlipTest::smallest_p of the same differences
};

/// The two-sided 5 % critical value of Student's t.
/// \param degrees  degrees of freedom
double t_critical_value(double degrees);

/// Paired test of mean difference 0, with a dual interval: p < 0.05 if and only if the 95 %
/// interval excludes 0. PairedDifference::p is of this test:
///   student_t   Student's t with pairs - 1 degrees of freedom
///   bootstrap   symmetric bootstrap of the studentized mean, with kResamples resamples of a fixed
///               random stream; Student's t below kBootstrapFrom pairs
/// Degenerate resamples (zero variance) count as extreme. If they are 5 % or more of the resamples,
/// Student's t is used.
/// Equal differences have no variance and no t. Then p is sign_flip_p(), which is 1 if all are 0,
/// and the interval has no width. The pair is not dual: the interval of fewer than kLeastFlipPairs
/// equal differences other than 0 excludes 0, and p is above 0.05.
/// \param differences  at least 2, finite
/// \source Student 1908; Hall 1988, "On symmetric bootstrap confidence intervals"
PairedDifference paired_test(const std::vector<double>& differences,
                             DifferenceTest test = DifferenceTest::student_t);
inline constexpr std::size_t kBootstrapFrom = 10;
inline constexpr int kResamples = 99'999;  // alpha (B + 1) is an integer

/// The mean of independent values with its 95 % interval by Student's t. Fewer than 2 values:
/// deviation and interval are NaN; no values: the mean is also NaN.
struct MeanEstimate {
  double mean = 0, standard_deviation = 0;
  Interval interval;
};
MeanEstimate mean_estimate(const std::vector<double>& values);

/// Two one-sided t-tests (TOST), H0: |mean| >= margin. Returns the larger of the two p-values.
/// \param margin  above 0, in the unit of the differences
/// \source Schuirmann 1987
double tost_p(const PairedDifference& difference, double margin);

/// Holm-adjusted p-values, which control the family-wise error rate for any configuration of true
/// and false hypotheses. Order as the input. Each is at least the raw p-value and at most 1.
/// \param p  raw p-values in 0 .. 1; may be empty
/// \source Holm 1979
std::vector<double> holm(const std::vector<double>& p);

/// Benjamini-Hochberg-adjusted p-values, which control the false discovery rate of independent or
/// positively dependent tests: the expected share of true hypotheses among those below a level is
/// at most that level. Order as the input.
/// \param p  raw p-values in 0 .. 1; may be empty
/// \source Benjamini and Hochberg 1995
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

/// The power of the paired t-test, by the noncentral t distribution. The bootstrap of paired_test()
/// has lower power.
/// \param effect_size  mean / standard_deviation, either sign; may be infinite
/// \param pairs        at least 2
/// \param level        significance level
double t_test_power(double effect_size, std::int64_t pairs, double level = 0.05);

/// The minimum detectable effect size with 80 % power.
double minimum_detectable_effect(std::int64_t pairs, double level = 0.05);

/// The t-test for the opposite of tost_p(). H0: |mean| <= margin. p is the probability, at a mean
/// of the margin, of a mean at least as large in either direction.
double nonequivalence_p(const PairedDifference& difference, double margin);

/// Fisher's exact test, two-sided. H0: the rates count / all and other_count / other_all are equal.
/// \source Fisher 1922
double fisher_exact_p(std::int64_t count, std::int64_t all, std::int64_t other_count,
                      std::int64_t other_all);

using report::sign_test_p;

/// The smallest number of pairs for a significant sign test if all pairs agree.
std::int64_t sign_test_required_pairs(double level);

/// The exact 95 % interval of the rate count / all; 0 .. 1 if `all` is 0.
/// \source Clopper and Pearson 1934
Interval clopper_pearson_interval(std::int64_t count, std::int64_t all);

}  // namespace evenkeel::study
