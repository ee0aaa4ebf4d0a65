// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/statistics.h"

#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"
#include "evenkeel/study/analysis/sign_flip.h"

namespace evenkeel::study {

namespace {

// long double would double the time to compile and to run, for equal digits.
using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using Student = boost::math::students_t_distribution<double, Policy>;
using NoncentralStudent = boost::math::non_central_t_distribution<double, Policy>;

constexpr int kOneIn = 20;  // 5 %: one in twenty
static_assert(1.0 / kOneIn == kSignificanceLevel);
constexpr double kPower = 0.8;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Moments {
  double mean = kNaN;
  double standard_deviation = kNaN;  // NaN for a single value
};

Moments moments_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double first = values.front();  // relative to it, equal values have exactly their mean
  double sum = 0;
  for (const double value : values) sum += value - first;
  const double mean = first + sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .standard_deviation = std::sqrt(squares / (count - 1))};
}

/// The result of a test of an observed t.
struct TestResult {
  double critical_value = 0;  // half width of the 95 % interval, in standard errors of the mean
  double p = 1;
  DifferenceTest test = DifferenceTest::student_t;
};

TestResult student_t_test(double t, std::size_t pairs) {
  const auto degrees = static_cast<double>(pairs - 1);
  return {.critical_value = t_critical_value(degrees),
          .p = 2 * cdf(complement(Student(degrees), std::abs(t)))};
}

/// |t| of the bootstrap resample `index`: an equal number of values, drawn with replacement; one
/// call of Philox draws four.
/// \param standard  the differences minus their mean, in standard deviations
/// \return infinity if all drawn values are equal, so that the resample is no evidence for a
///         difference
double resampled_t(const std::vector<double>& standard, const Philox& random, std::uint64_t index) {
  constexpr int kWordBits = 32;
  const std::size_t size = standard.size();
  double sum = 0, squares = 0;
  std::size_t drawn = 0;
  for (std::uint64_t block = 0; drawn < size; ++block) {
    for (const std::uint64_t word : random.words(block, index)) {
      if (drawn++ == size) break;
      const double value = standard[word * size >> kWordBits];
      sum += value;
      squares += value * value;
    }
  }
  const auto count = static_cast<double>(size);
  const double spread = squares - sum * sum / count;
  const bool same = spread <= count * std::numeric_limits<double>::epsilon() * squares;
  return same ? std::numeric_limits<double>::infinity()
              : std::abs(sum) / std::sqrt(spread * count / (count - 1));
}

/// p < 5 % if at most kRank resamples reach |t|. The critical value is the next largest |t| of the
/// resamples, so p < 5 % if and only if the interval excludes 0.
TestResult bootstrap_t_test(double t, const std::vector<double>& differences, Moments moments) {
  constexpr std::uint64_t kSeed = 1;
  static_assert((kResamples + 1) % kOneIn == 0, "else no rank is exactly 5 %");
  constexpr int kRank = (kResamples + 1) / kOneIn - 2;
  const Philox random(kSeed, "study/bootstrap");
  std::vector<double> standard = differences;
  for (double& value : standard) value = (value - moments.mean) / moments.standard_deviation;
  std::vector<double> all(kResamples);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = resampled_t(standard, random, i);
  const auto at_least =
      std::count_if(all.begin(), all.end(), [t](double each) { return each >= std::abs(t); });
  std::nth_element(all.begin(), all.begin() + kRank, all.end(), std::greater<>());
  return {.critical_value = all[kRank],
          .p = static_cast<double>(at_least + 1) / (kResamples + 1),
          .test = DifferenceTest::bootstrap};
}

TestResult test_result(double t, const std::vector<double>& differences, Moments moments,
                       DifferenceTest test) {
  if (test == DifferenceTest::bootstrap && differences.size() >= kBootstrapFrom) {
    const TestResult result = bootstrap_t_test(t, differences, moments);
    if (std::isfinite(result.critical_value)) return result;
  }
  return student_t_test(t, differences.size());
}

Interval symmetric_interval(double mean, double half_width) {
  return {.low = mean - half_width, .high = mean + half_width};
}

/// p of differences without variance, which are all on one side of a limit: that of the sign-flip
/// test. Arms whose runs are equal bit for bit are equal.
double equal_differences_p(const PairedDifference& difference) {
  if (difference.mean == 0) return 0;
  return smallest_sign_flip_p(difference.pairs);
}

bool finite(double value) {
  return std::isfinite(value);
}

}  // namespace

double t_critical_value(double degrees) {
  return quantile(complement(Student(degrees), kSignificanceLevel / 2));
}

PairedDifference paired_test(const std::vector<double>& differences, DifferenceTest test) {
  EK_ASSERT(differences.size() >= 2);
  EK_ASSERT(std::all_of(differences.begin(), differences.end(), finite));
  Moments moments = moments_of(differences);
  constexpr double kRounding = 1e-12;  // of equal values, such as doublings of a learning rate
  if (moments.standard_deviation < kRounding * std::abs(moments.mean)) {
    moments.standard_deviation = 0;
  }
  const SignFlipTest flips = sign_flip_test(differences);
  PairedDifference result{.pairs = static_cast<std::int64_t>(differences.size()),
                          .mean = moments.mean,
                          .standard_deviation = moments.standard_deviation,
                          .interval = symmetric_interval(moments.mean, 0),
                          .sign_flip_p = flips.p,
                          .smallest_sign_flip_p = flips.smallest_p};
  if (moments.mean != 0) result.effect_size = moments.mean / moments.standard_deviation;
  if (moments.standard_deviation == 0) {
    result.p = result.sign_flip_p;
    return result;
  }
  const double error = moments.standard_deviation / std::sqrt(static_cast<double>(result.pairs));
  const TestResult tested = test_result(moments.mean / error, differences, moments, test);
  result.interval = symmetric_interval(moments.mean, tested.critical_value * error);
  result.p = tested.p;
  result.test = tested.test;
  return result;
}

MeanEstimate mean_estimate(const std::vector<double>& values) {
  MeanEstimate result{
      .mean = kNaN, .standard_deviation = kNaN, .interval = {.low = kNaN, .high = kNaN}};
  if (values.empty()) return result;
  const Moments moments = moments_of(values);
  result.mean = moments.mean;
  if (values.size() < 2) return result;
  const auto count = static_cast<double>(values.size());
  result.standard_deviation = moments.standard_deviation;
  result.interval = symmetric_interval(
      moments.mean, t_critical_value(count - 1) * moments.standard_deviation / std::sqrt(count));
  return result;
}

double tost_p(const PairedDifference& difference, double margin) {
  EK_ASSERT(difference.pairs >= 2);
  EK_ASSERT(margin > 0);
  const double distance = margin - std::abs(difference.mean);
  if (difference.standard_deviation == 0) return distance > 0 ? equal_differences_p(difference) : 1;
  const auto pairs = static_cast<double>(difference.pairs);
  const double t = distance / (difference.standard_deviation / std::sqrt(pairs));
  return cdf(complement(Student(pairs - 1), t));
}

namespace {

/// The indices of p-values from the smallest to the largest.
std::vector<std::size_t> order_of(const std::vector<double>& p) {
  EK_ASSERT(std::all_of(p.begin(), p.end(), [](double each) { return each >= 0 && each <= 1; }));
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&p](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

std::vector<double> holm(const std::vector<double>& p) {
  const auto order = order_of(p);
  std::vector<double> corrected(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto remaining = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, remaining * p[order[rank]]));
    corrected[order[rank]] = largest;
  }
  return corrected;
}

std::vector<double> benjamini_hochberg(const std::vector<double>& p) {
  const auto order = order_of(p);
  std::vector<double> corrected(p.size());
  double smallest = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const auto index = order[rank - 1];
    const double factor = static_cast<double>(order.size()) / static_cast<double>(rank);
    smallest = std::min(smallest, factor * p[index]);
    corrected[index] = smallest;
  }
  return corrected;
}

double t_test_power(double effect_size, std::int64_t pairs, double level) {
  EK_ASSERT(!std::isnan(effect_size));
  EK_ASSERT(pairs >= 2);
  // Beyond it the power is 1 in double, and the series of the noncentral t converges slowly.
  constexpr double kCertain = 40;
  const auto degrees = static_cast<double>(pairs - 1);
  EK_ASSERT(0 < level && level < 1);
  const double critical_value = quantile(complement(Student(degrees), level / 2));
  const double shift = std::abs(effect_size) * std::sqrt(static_cast<double>(pairs));
  if (shift > kCertain * critical_value) return 1;
  const NoncentralStudent shifted(degrees, shift);
  return cdf(complement(shifted, critical_value)) + cdf(shifted, -critical_value);
}

double minimum_detectable_effect(std::int64_t pairs, double level) {
  double low = 0, high = 1;
  while (t_test_power(high, pairs, level) < kPower) high *= 2;
  constexpr int kHalvings = 40;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = std::midpoint(low, high);
    (t_test_power(middle, pairs, level) < kPower ? low : high) = middle;
  }
  return high;
}

Interval clopper_pearson_interval(std::int64_t count, std::int64_t all) {
  EK_ASSERT(0 <= count && count <= all);
  const auto hits = static_cast<double>(count);
  const auto misses = static_cast<double>(all - count);
  using boost::math::ibeta_inv;
  using boost::math::ibetac_inv;
  return {.low = hits == 0 ? 0 : ibeta_inv(hits, misses + 1, kSignificanceLevel / 2, Policy()),
          .high = misses == 0 ? 1 : ibetac_inv(hits + 1, misses, kSignificanceLevel / 2, Policy())};
}

namespace {

double log_binomial(std::int64_t all, std::int64_t chosen) {
  const auto of = [](std::int64_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  return of(all) - of(chosen) - of(all - chosen);
}

}  // namespace

double fisher_exact_p(std::int64_t count, std::int64_t all, std::int64_t other_count,
                      std::int64_t other_all) {
  EK_ASSERT(0 <= count && count <= all && 0 <= other_count && other_count <= other_all);
  const std::int64_t hits = count + other_count;
  const auto probability = [&](std::int64_t here) {  // of so many of the hits, the sums given
    return std::exp(log_binomial(all, here) + log_binomial(other_all, hits - here) -
                    log_binomial(all + other_all, hits));
  };
  constexpr double kRounding = 1 + 1e-9;
  const double observed = probability(count) * kRounding;
  double p = 0;
  for (std::int64_t here = std::max<std::int64_t>(0, hits - other_all); here <= std::min(all, hits);
       ++here) {
    if (probability(here) <= observed) p += probability(here);
  }
  return std::min(1.0, p);
}

std::int64_t sign_test_required_pairs(double level) {
  EK_ASSERT(level > 0);
  std::int64_t pairs = 1;
  while (sign_test_p(pairs, 0) >= level) ++pairs;
  return pairs;
}

double nonequivalence_p(const PairedDifference& difference, double margin) {
  const double size = std::abs(difference.mean);
  if (difference.standard_deviation == 0)
    return size > margin ? equal_differences_p(difference) : 1;
  const auto pairs = static_cast<double>(difference.pairs);
  const double error = difference.standard_deviation / std::sqrt(pairs);
  const Student student(pairs - 1);
  return std::min(1.0, cdf(complement(student, (size - margin) / error)) +
                           cdf(complement(student, (size + margin) / error)));
}

}  // namespace evenkeel::study
