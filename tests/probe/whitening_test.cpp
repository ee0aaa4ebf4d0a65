// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/whitening.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace evenkeel::probe {
namespace {

// A diagonal covariance: each feature is divided by its own deviation.
TEST(Whitening, OfUncorrelatedFeaturesDividesByTheirDeviations) {
  const auto x = at::tensor({2., 3., 2., -3., -2., 3., -2., -3.}, at::kDouble).view({4, 2}) + 5;
  const auto expected = at::tensor({1., 1., 1., -1., -1., 1., -1., -1.}, at::kDouble).view({4, 2});
  EXPECT_LT((whitened(x) - expected).abs().max().item<double>(), 1e-12);
}

// The covariance [[2, 1], [1, 2]] has C^(-1/2) = [[a + b, a - b], [a - b, a + b]] with a = 1 /
// (2 sqrt(3)) and b = 1/2.
TEST(Whitening, IsSymmetric) {
  const double r = std::sqrt(3.0);
  const auto x = at::tensor({r, r, -r, -r, 1., -1., -1., 1.}, at::kDouble).view({4, 2});
  const double a = 1 / (2 * r), b = 0.5;
  const auto root = at::tensor({a + b, a - b, a - b, a + b}, at::kDouble).view({2, 2});
  EXPECT_LT((whitened(x) - at::matmul(x, root)).abs().max().item<double>(), 1e-12);
}

TEST(Whitening, ItsClaimsHold) {
  const auto claims = whitening_claims();
  EXPECT_EQ(claims.size(), 7U);
  for (const auto& claim : claims) {
    EXPECT_TRUE(claim.holds()) << claim.subject << ": " << claim.statement << " is "
                               << claim.measured;
  }
}

}  // namespace
}  // namespace evenkeel::probe
