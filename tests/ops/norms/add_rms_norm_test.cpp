// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/add_rms_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::Tensors;

class AddRmsNorm : public ::testing::Test {
 protected:
  AddRmsNorm() { at::manual_seed(0); }

  at::Tensor residual = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor branch = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor gain = at::randn({5}, at::kDouble);
  Tensors upstream = {at::randn({2, 3, 5}, at::kDouble), at::randn({2, 3, 5}, at::kDouble)};
};

Tensors fused_add_rms_norm(const Tensors& in) {
  const auto [sum, y] = ops::add_rms_norm(in[0], in[1], in[2]);
  return {sum, y};
}
Tensors add_rms_norm_formula(const Tensors& in) {
  const auto [sum, y] = ops::reference::add_rms_norm(in[0], in[1], in[2]);
  return {sum, y};
}

// sum = residual + branch;  y = rms_norm(sum).
TEST_F(AddRmsNorm, AddsAndThenNormalizes) {
  const auto got = fused_add_rms_norm({residual, branch, gain});
  EXPECT_TRUE(got[0].equal(residual + branch));
  EXPECT_TRUE(close(got[1], add_rms_norm_formula({residual, branch, gain})[1], 1e-12, 0));
}

TEST_F(AddRmsNorm, IsTheTwoOperatorsBitForBit) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto a = residual.to(dtype);
    const auto b = branch.to(dtype);
    const auto g = gain.to(at::kFloat);
    const auto got = fused_add_rms_norm({a, b, g});
    EXPECT_TRUE(got[0].equal(a + b)) << "rounded to " << dtype;
    EXPECT_TRUE(got[1].equal(ops::rms_norm(a + b, g)));
  }
}

// RMSNorm(c (a + b)) = RMSNorm(a + b), arXiv:1910.07467, section 4.
TEST_F(AddRmsNorm, IsInvariantToACommonScale) {
  const auto [sum, y] = ops::add_rms_norm(residual, branch, gain, 0);
  const auto [sum2, y2] = ops::add_rms_norm(8 * residual, 8 * branch, gain, 0);
  EXPECT_TRUE(sum2.equal(8 * sum));
  EXPECT_TRUE(y2.equal(y)) << "8 is a power of two";
}

TEST_F(AddRmsNorm, GivesBothSummandsOneGradient) {
  const auto got = testing::gradients(fused_add_rms_norm, {residual, branch, gain}, upstream);
  EXPECT_TRUE(got[0].equal(got[1]));
}

// Each result may be left unread: then its gradient is absent, not zeros.
TEST_F(AddRmsNorm, HasAGradientWhereOnlyOneResultIsRead) {
  for (const std::size_t read : {0, 1}) {
    const auto only = [&](const Tensors& all) { return Tensors{all[read]}; };
    const Tensors leaves = {residual.detach().requires_grad_(), branch.detach().requires_grad_()};
    const auto grads = [&](auto function) {
      return torch::autograd::grad(only(function({leaves[0], leaves[1], gain})), leaves,
                                   {upstream[read]});
    };
    const auto got = grads(fused_add_rms_norm);
    const auto wanted = grads(add_rms_norm_formula);
    EXPECT_TRUE(close(got[0], wanted[0], 1e-10, 1e-12)) << "result " << read;
    EXPECT_TRUE(close(got[1], wanted[1], 1e-10, 1e-12)) << "result " << read;
  }
}

TEST_F(AddRmsNorm, AccumulatesIntoSummandsThatAreOneTensor) {
  const auto leaf = residual.detach().requires_grad_();
  const auto got =
      torch::autograd::grad(fused_add_rms_norm({leaf, leaf, gain}), {leaf}, upstream)[0];
  const auto one = testing::gradients(fused_add_rms_norm, {residual, residual, gain}, upstream)[0];
  EXPECT_TRUE(close(got, 2 * one, 1e-12, 0));
}

// The gradient of the sum and that through the norm are added before they are rounded.
TEST_F(AddRmsNorm, RoundsLittleForBfloat16) {
  const auto a = at::randn({64, 96}).to(at::kBFloat16);
  const auto b = at::randn({64, 96}).to(at::kBFloat16);
  const auto g = at::randn({96});
  const Tensors up = {at::randn({64, 96}).to(at::kBFloat16), at::randn({64, 96}).to(at::kBFloat16)};
  const auto got = fused_add_rms_norm({a, b, g});
  const auto sum = got[0].to(at::kDouble);
  const auto normed = [](const Tensors& in) {
    return Tensors{in[0], ops::reference::rms_norm(in[0], in[1])};
  };
  const auto wide = g.to(at::kDouble);
  EXPECT_TRUE(close(got[1], normed({sum, wide})[1], 0x1p-8 * 1.001, 0));
  const auto grads = testing::gradients(fused_add_rms_norm, {a, b, g}, up);
  const auto wanted =
      testing::gradients(normed, {sum, wide}, {up[0].to(at::kDouble), up[1].to(at::kDouble)});
  const auto size = [&](std::size_t i) {
    return 8 * 0x1p-24 * wanted[i].abs().max().item<double>();
  };
  EXPECT_TRUE(close(grads[0], wanted[0], 0x1p-8 * 1.001, size(0)));
  EXPECT_TRUE(close(grads[2], wanted[1], 0x1p-24, size(1)));
}

}  // namespace
}  // namespace evenkeel
