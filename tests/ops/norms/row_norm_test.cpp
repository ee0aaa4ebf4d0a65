// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/row_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/column_norm.h"
#include "support/close.h"

// What the norms of rows and columns refuse, and that they are their formulas; against long double
// and with gradients they stand in tests/nn/norm_numerics_test.cpp.
namespace evenkeel {
namespace {

using testing::close;

std::string refusal(const std::function<void()>& run) {
  try {
    run();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

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

TEST(RowNorm, RejectsMismatchedArguments) {
  const auto x = at::zeros({2, 6});
  const auto message = [&](const ops::RowNormOptions& options, const at::Tensor& gain) {
    return refusal([&] { ops::row_norm(x, gain, std::nullopt, options); });
  };
  const auto ones = at::ones({6});
  EXPECT_EQ(message({.groups = 4}, ones), "[row_norm] groups must divide the width 6, but is 4");
  EXPECT_EQ(message({.centred = true, .partial = 0.5}, ones),
            "[row_norm] partial must be above 0, at most 1, and 1 of centred rows, but is 0.5");
  EXPECT_EQ(message({.epsilon = -1}, ones), "[row_norm] epsilon must be >= 0, but is -1");
  EXPECT_EQ(message({.epsilon_at = static_cast<ops::EpsilonAt>(3)}, ones),
            "[row_norm] epsilon_at must be 0 (inside), 1 (outside) or 2 (clamp), but is 3");
  EXPECT_EQ(message({}, at::ones({5})), "[row_norm] gain must be [6] to fit x [2, 6], but is [5]");
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

TEST(ColumnNorm, RejectsMismatchedArguments) {
  const auto message = [](const at::Tensor& x, const at::Tensor& gain) {
    return refusal([&] { ops::column_norm(x, gain, std::nullopt, 1e-5); });
  };
  const auto gain = at::ones({3}, at::kDouble);
  EXPECT_EQ(
      message(at::zeros({4, 3}), gain),
      "[column_norm] x must be [sequences, positions, features] with a position at least, but "
      "is [4, 3]");
  EXPECT_EQ(
      message(at::zeros({1, 0, 3}), gain),
      "[column_norm] x must be [sequences, positions, features] with a position at least, but "
      "is [1, 0, 3]");
  EXPECT_EQ(message(at::zeros({1, 4, 3}), at::ones({3})),
            "[column_norm] gain must be float64 [3] on cpu, but is float32 [3] on cpu");
}

}  // namespace
}  // namespace evenkeel
