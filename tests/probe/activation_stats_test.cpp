// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/activation_stats.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace evenkeel::probe {
namespace {

/// One sequence. [1, rows, columns]
at::Tensor sequence(std::vector<double> values, std::int64_t columns) {
  return at::tensor(values, at::kDouble).view({1, -1, columns});
}

TEST(ActivationStats, MeasuresSizes) {
  const auto x = sequence({3, -4, 0, 0}, 2);
  EXPECT_DOUBLE_EQ(mean_square(x), 25.0 / 4);
  EXPECT_DOUBLE_EQ(max_abs(x), 4);
}

TEST(ActivationStats, PropagatesNaN) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(max_or_nan(1, nan)));
  EXPECT_TRUE(std::isnan(max_or_nan(nan, 1)));
  EXPECT_EQ(max_or_nan(1, 2), 2);
  for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
    const auto x = sequence({1, bad, 1, -1}, 2);  // the second token is finite
    for (const auto& stat : {kurtosis, token_mean, outlier_share, token_cosine, mean_square}) {
      EXPECT_FALSE(std::isfinite(stat(x)));
    }
    EXPECT_TRUE(std::isnan(kurtosis(x)) && std::isnan(token_mean(x)));
    EXPECT_TRUE(std::isnan(outlier_share(x)));
  }
  EXPECT_TRUE(std::isnan(max_abs(sequence({1, nan}, 2))));
}

// (1, -1, 1, -1): m2 = 1, m4 = 1. (3, -1, -1, -1): m2 = 3, m4 = 21, 21 / 9. Equal features: 0.
TEST(ActivationStats, MeasuresTheKurtosisOfATokensFeatures) {
  EXPECT_DOUBLE_EQ(kurtosis(sequence({1, -1, 1, -1}, 4)), 1);
  EXPECT_DOUBLE_EQ(kurtosis(sequence({3, -1, -1, -1}, 4)), 21.0 / 9);
  EXPECT_DOUBLE_EQ(kurtosis(sequence({5, 5, 5, 5, 1, -1, 1, -1}, 4)), 0.5);
}

// (1, 3): mean 2, rms sqrt(5); (-1, 1): mean 0; zeros count as 0.
TEST(ActivationStats, TokenMeanIsRelativeToTheRms) {
  const auto x = at::tensor({1.0, 3.0, -1.0, 1.0, 0.0, 0.0}, at::kDouble).view({1, 3, 2});
  EXPECT_DOUBLE_EQ(token_mean(x), 2 / std::sqrt(5) / 3);
}

// One entry of 100 is an outlier of its token: 10 rms of (1, 0, ..., 0) is sqrt(100) = 10 > 6.
TEST(ActivationStats, CountsOutliersOfTheirToken) {
  auto x = at::zeros({1, 2, 100}, at::kDouble);
  x[0][0][7] = 1;
  x[0][1].fill_(1);
  EXPECT_DOUBLE_EQ(outlier_share(x), 1.0 / 200);
}

// Pairs of (1, 0), (0, 2), (3, 3): 0, 1/sqrt 2, 1/sqrt 2; a token of zeros has 0 with each.
TEST(ActivationStats, AveragesTheCosineOverPairsOfPositions) {
  EXPECT_NEAR(token_cosine(sequence({1, 0, 0, 2, 3, 3}, 2)), std::sqrt(2.0) / 3, 1e-15);
  EXPECT_NEAR(token_cosine(sequence({1, 0, 1, 0, 0, 0}, 2)), 1.0 / 3, 1e-15);
  const auto two = at::cat({sequence({1, 0, 1, 0}, 2), sequence({1, 0, -1, 0}, 2)});
  EXPECT_NEAR(token_cosine(two), 0, 1e-15);
  EXPECT_TRUE(std::isnan(token_cosine(sequence({1, 0}, 2))));
}

TEST(ActivationStats, MeasuresTheAngleInPi) {
  EXPECT_NEAR(angle(sequence({1, 0, 1, 0}, 2), sequence({0, 1, -1, 0}, 2)), 0.75, 1e-15);
}

/// exp of the entropy of the singular values, by the decomposition itself.
double effective_rank(const at::Tensor& x) {
  const auto rows = x.flatten(0, 1);
  const auto values = at::linalg_svdvals(rows - rows.mean(0, /*keepdim=*/true));
  return std::exp(at::special_entr(values / values.sum()).sum().item<double>());
}

TEST(EffectiveRank, DoesNotDependOnTheSplitOfTheTokens) {
  const auto i = at::arange(2 * 20 * 6, at::kDouble);
  const auto x = (i.sin() * 3 + (i * i).cos()).view({2, 20, 6}) + 5;
  EffectiveRank whole, parts;
  whole.add(x);
  parts.add(x.narrow(0, 0, 1));
  parts.add(x.narrow(0, 1, 1));
  EXPECT_NEAR(whole.value(), effective_rank(x), 1e-9);
  EXPECT_NEAR(parts.value(), whole.value(), 1e-9);
}

TEST(EffectiveRank, OfOneDirectionIsOneAndOfNoneZero) {
  EffectiveRank line, point;
  line.add(sequence({1, 2, 2, 4, 3, 6}, 2));
  EXPECT_NEAR(line.value(), 1, 1e-6);
  point.add(at::zeros({1, 3, 2}, at::kDouble));
  EXPECT_EQ(point.value(), 0);
  point.add(sequence({std::numeric_limits<double>::infinity(), 0}, 2));
  EXPECT_TRUE(std::isnan(point.value()));
}

TEST(EffectiveRank, OfEqualTokensIsZero) {
  EffectiveRank equal;
  equal.add((at::arange(16, at::kDouble).sin() * 100).expand({2, 50, 16}));
  EXPECT_EQ(equal.value(), 0);
}

TEST(ActivationStats, TokenMeanIsOfTheSizeOfAMean) {
  EXPECT_DOUBLE_EQ(token_mean(at::tensor({-1.0, -3.0, 1.0, 3.0}, at::kDouble).view({1, 2, 2})),
                   2 / std::sqrt(5));
}

}  // namespace
}  // namespace evenkeel::probe
