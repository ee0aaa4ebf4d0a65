// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/row_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/column_norm.h"
#include "support/close.h"

// Every form of the norms of rows and columns. tests/nn/norm_numerics_test.cpp compares them with
// long double.
namespace evenkeel {
namespace {

using testing::close;

TEST(RowNorm, IsItsFormulaInEveryForm) {
  at::manual_seed(3);
  const auto x = at::randn({5, 12}, at::kDouble);
  const auto gain = at::randn({12}, at::kDouble), bias = at::randn({12}, at::kDouble);
  namespace reference = ops::reference;
  for (const auto epsilon_at :
       {ops::EpsilonAt::inside, ops::EpsilonAt::outside, ops::EpsilonAt::clamp}) {
    const auto wanted = gain * reference::group_rows(x, 3, 0.1, epsilon_at) + bias;
    const auto got = ops::row_norm(
        x, gain, bias, {.groups = 3, .centred = true, .epsilon = 0.1, .epsilon_at = epsilon_at});
    EXPECT_TRUE(close(got, wanted, 1e-12, 1e-14));
    const auto length = ops::row_norm(x, gain, std::nullopt,
                                      {.length = true, .epsilon = 0.1, .epsilon_at = epsilon_at});
    EXPECT_TRUE(close(length, gain * reference::unit_rows(x, 0.1, epsilon_at), 1e-12, 1e-14));
    const auto part = ops::row_norm(x, std::nullopt, std::nullopt,
                                    {.partial = 0.3, .epsilon = 0.1, .epsilon_at = epsilon_at});
    EXPECT_TRUE(close(part, reference::rms_rows(x, 0.1, epsilon_at, 0.3), 1e-12, 1e-14));
  }
}

TEST(ColumnNorm, GivesMomentsAndItsFormula) {
  at::manual_seed(4);
  const auto x = at::randn({2, 70, 3}, at::kDouble);  // two blocks of rows
  const auto gain = at::randn({3}, at::kDouble), bias = at::randn({3}, at::kDouble);
  const auto got = ops::column_norm(x, gain, bias, 0.1, ops::EpsilonAt::outside);
  const auto wanted = gain * ops::reference::instance_rows(x, 0.1, ops::EpsilonAt::outside) + bias;
  EXPECT_TRUE(close(got.y, wanted, 1e-12, 1e-14));
  EXPECT_TRUE(close(got.mean, x.mean(1), 1e-12, 1e-14));
  EXPECT_TRUE(close(got.variance, x.var(1, /*unbiased=*/false), 1e-12, 1e-14));
}

}  // namespace
}  // namespace evenkeel
