// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/sum_of_squares.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"

namespace evenkeel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class SumOfSquares : public ::testing::Test {
 protected:
  SumOfSquares() { at::manual_seed(0); }
};

TEST_F(SumOfSquares, FollowsItsFormula) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const std::int64_t count : {1, 70, 65536, 65537, 500'000}) {
      const auto x = at::randn({count}).to(dtype);
      const double expected = ops::reference::sum_of_squares(x);
      EXPECT_NEAR(ops::sum_of_squares(x), expected, 1e-12 * expected) << count;
    }
  }
}

TEST_F(SumOfSquares, OfNothingIsZero) {
  EXPECT_EQ(ops::sum_of_squares(at::empty({0, 3})), 0);
}

// |x|^2 of the largest floats is 1e77 each, far inside a double.
TEST_F(SumOfSquares, OfFloatsDoesNotOverflow) {
  const double largest = static_cast<double>(3e38F);
  EXPECT_NEAR(ops::sum_of_squares(at::full({100'000}, 3e38)) / (1e5 * largest * largest), 1, 1e-12);
}

TEST_F(SumOfSquares, PropagatesNanAndInfinity) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    auto x = at::ones({100'000}, at::TensorOptions(dtype));
    x[77'777] = -kInfinity;
    EXPECT_EQ(ops::sum_of_squares(x), kInfinity);
    x[3] = std::nan("");
    EXPECT_TRUE(std::isnan(ops::sum_of_squares(x)));
  }
}

}  // namespace
}  // namespace evenkeel
