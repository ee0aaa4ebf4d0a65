// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/serial_matmul.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/linear/grouped_linear.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using at::Tensor;
using testing::close;

constexpr auto kTypes = {at::kDouble, at::kFloat, at::kBFloat16};

double rounding(at::ScalarType type) {
  return type == at::kBFloat16 ? 0x1p-8 : type == at::kFloat ? 1e-6 : 1e-14;
}

TEST(SerialMatmul, EqualsMmForEveryLayout) {
  at::manual_seed(3);
  for (const auto type : kTypes) {
    const auto x = at::randn({210, 90}).to(type), w = at::randn({90, 50}).to(type);
    const auto wanted = at::mm(x.to(at::kDouble), w.to(at::kDouble));
    const auto columns = w.t().contiguous().t();
    const auto neither = at::randn({90, 100}).to(type).slice(1, 0, 100, 2).copy_(w);
    for (const auto& each : {w, columns, neither}) {
      const auto y = at::empty({210, 50}, x.options());
      ops::serial_matmul_out(y, x, each);
      EXPECT_TRUE(
          close(y, wanted, rounding(type), type == at::kBFloat16 ? 1e-4 : 20 * rounding(type)))
          << type;
    }
  }
}

// A part of what no cache holds, and a product of nothing.
TEST(SerialMatmul, WritesIntoViewsAndTakesEmptyOperands) {
  at::manual_seed(3);
  const auto all = at::zeros({40'000, 64}, at::kBFloat16);
  const auto x = at::randn({77, 32}).to(at::kBFloat16), w = at::randn({32, 64}).to(at::kBFloat16);
  ops::serial_matmul_out(all.narrow(0, 100, 77), x, w);
  const auto wanted = at::mm(x.to(at::kDouble), w.to(at::kDouble));
  EXPECT_TRUE(close(all.narrow(0, 100, 77), wanted, 0x1p-8, 1e-4));
  EXPECT_FALSE(all.narrow(0, 0, 100).any().item<bool>());
  EXPECT_FALSE(all.narrow(0, 177, 200).any().item<bool>());
  ops::serial_matmul_out(all.narrow(0, 0, 0), x.narrow(0, 0, 0), w);
}

// As of a router: the columns of its gradient are computed in blocks of 128.
TEST(GroupedLinear, HasTheGradientOfASingleGroup) {
  at::manual_seed(3);
  const auto offsets = at::tensor({std::int64_t{0}, std::int64_t{210}}, at::kLong);
  for (const auto type : {at::kDouble, at::kFloat}) {
    for (const std::int64_t inputs : {127, 128, 300}) {
      const auto x = at::randn({210, inputs}).to(type), dy = at::randn({210, 8}).to(type);
      const auto w = at::randn({1, 8, inputs}).to(type).requires_grad_();
      ops::grouped_linear(x, w, offsets).backward(dy);
      const auto wanted = at::mm(dy.to(at::kDouble).t(), x.to(at::kDouble)).unsqueeze(0);
      EXPECT_TRUE(close(w.grad(), wanted, rounding(type), 100 * rounding(type))) << inputs;
    }
  }
}

TEST(SerialMatmul, AddsWeightGradients) {
  at::manual_seed(3);
  for (const auto type : kTypes) {
    const auto dy = at::randn({210, 50}).to(type), x = at::randn({210, 90}).to(type);
    const auto wanted = at::mm(dy.to(at::kDouble).t(), x.to(at::kDouble));
    const auto sum = at::full({50, 90}, 7, type == at::kBFloat16 ? at::kFloat : type);
    const double allowed = type == at::kDouble ? 1e-13 : 1e-5;
    ops::serial_add_weight_gradient(sum, dy, x, /*is_first=*/true);
    EXPECT_TRUE(close(sum, wanted, allowed, 20 * allowed)) << type;
    ops::serial_add_weight_gradient(sum, dy, x, /*is_first=*/false);
    EXPECT_TRUE(close(sum, 2 * wanted, allowed, 40 * allowed)) << type;
    const auto narrow = at::zeros({50, 90}, type);  // rounded, where a sum is of the dtype
    ops::serial_add_weight_gradient(narrow, dy, x, /*is_first=*/true);
    const double rounding = type == at::kBFloat16 ? 0x1p-8 : allowed;
    EXPECT_TRUE(close(narrow, wanted, rounding, 20 * rounding)) << type;
    const auto one = dy.narrow(0, 0, 1).expand({210, 50});  // rows above each other
    ops::serial_add_weight_gradient(sum, one, x, /*is_first=*/true);
    const auto same = at::mm(one.to(at::kDouble).t(), x.to(at::kDouble));
    EXPECT_TRUE(close(sum, same, allowed, 40 * allowed)) << type;
  }
}

}  // namespace
}  // namespace evenkeel
