// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/bounded.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <optional>

#include "support/close.h"

// Rounded once, with all gradients, it stands in tests/nn/norm_numerics_test.cpp.
namespace evenkeel {
namespace {

using testing::close;

TEST(Bounded, TakesAlphaAlone) {
  const auto x = 3 * at::randn({70, 300}, at::kDouble);
  const auto alpha = at::full({1}, 0.7, at::kDouble);
  const auto bare = ops::bounded(x, alpha, std::nullopt, std::nullopt, std::nullopt, false);
  EXPECT_TRUE(close(bare, at::tanh(0.7 * x), 1e-14, 1e-15));
}

}  // namespace
}  // namespace evenkeel
