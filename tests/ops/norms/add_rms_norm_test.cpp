// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/add_rms_norm.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::message_of;
using testing::Tensors;

class AddRmsNorm : public ::testing::Test {
 protected:
  AddRmsNorm() { at::manual_seed(0); }

  at::Tensor residual = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor branch = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor gain = at::randn({5}, at::kDouble);
  Tensors upstream = {at::randn({2, 3, 5}, at::kDouble), at::randn({2, 3, 5}, at::kDouble)};
};

Tensors fused(const Tensors& in) {
  const auto [sum, y] = ops::add_rms_norm(in[0], in[1], in[2]);
  return {sum, y};
}
Tensors formula(const Tensors& in) {
  const auto [sum, y] = ops::reference::add_rms_norm(in[0], in[1], in[2]);
  return {sum, y};
}

// sum = residual + branch;  y = rms_norm(sum).
TEST_F(AddRmsNorm, AddsAndThenNormalizes) {
  const auto got = fused({residual, branch, gain});
  EXPECT_TRUE(got[0].equal(residual + branch));
  EXPECT_TRUE(close(got[1], formula({residual, branch, gain})[1], 1e-12, 0));
}

TEST_F(AddRmsNorm, IsTheTwoOperatorsBitForBit) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto a = residual.to(dtype);
    const auto b = branch.to(dtype);
    const auto g = gain.to(at::kFloat);
    const auto got = fused({a, b, g});
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

TEST_F(AddRmsNorm, HasTheGradientOfItsFormula) {
  testing::expect_equal_gradients(fused, formula, {residual, branch, gain}, upstream);
}

TEST_F(AddRmsNorm, HasTheGradientOfFiniteDifferences) {
  testing::expect_finite_differences(fused, {residual, branch, gain}, upstream);
}

TEST_F(AddRmsNorm, GivesBothSummandsOneGradient) {
  const auto got = testing::gradients(fused, {residual, branch, gain}, upstream);
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
    const auto got = grads(fused);
    const auto wanted = grads(formula);
    EXPECT_TRUE(close(got[0], wanted[0], 1e-10, 1e-12)) << "result " << read;
    EXPECT_TRUE(close(got[1], wanted[1], 1e-10, 1e-12)) << "result " << read;
  }
}

TEST_F(AddRmsNorm, AccumulatesIntoSummandsThatAreOneTensor) {
  const auto leaf = residual.detach().requires_grad_();
  const auto got = torch::autograd::grad(fused({leaf, leaf, gain}), {leaf}, upstream)[0];
  const auto one = testing::gradients(fused, {residual, residual, gain}, upstream)[0];
  EXPECT_TRUE(close(got, 2 * one, 1e-12, 0));
}

// The gradient of the sum and that through the norm are added before they are rounded.
TEST_F(AddRmsNorm, RoundsLittleForBfloat16) {
  const auto a = at::randn({64, 96}).to(at::kBFloat16);
  const auto b = at::randn({64, 96}).to(at::kBFloat16);
  const auto g = at::randn({96});
  const Tensors up = {at::randn({64, 96}).to(at::kBFloat16), at::randn({64, 96}).to(at::kBFloat16)};
  const auto got = fused({a, b, g});
  const auto sum = got[0].to(at::kDouble);
  const auto normed = [](const Tensors& in) {
    return Tensors{in[0], ops::reference::rms_norm(in[0], in[1])};
  };
  const auto wide = g.to(at::kDouble);
  EXPECT_TRUE(close(got[1], normed({sum, wide})[1], 0x1p-8 * 1.001, 0));
  const auto grads = testing::gradients(fused, {a, b, g}, up);
  const auto wanted =
      testing::gradients(normed, {sum, wide}, {up[0].to(at::kDouble), up[1].to(at::kDouble)});
  const auto size = [&](std::size_t i) {
    return 8 * 0x1p-24 * wanted[i].abs().max().item<double>();
  };
  EXPECT_TRUE(close(grads[0], wanted[0], 0x1p-8 * 1.001, size(0)));
  EXPECT_TRUE(close(grads[2], wanted[1], 0x1p-24, size(1)));
}

TEST_F(AddRmsNorm, TakesNonContiguousInput) {
  const auto across = at::randn({5, 3, 2}, at::kDouble).permute({2, 1, 0});
  testing::expect_equal_gradients(fused, formula, {across, branch, gain}, upstream);
  testing::expect_equal_gradients(fused, formula, {residual, across, gain}, upstream);
}

TEST_F(AddRmsNorm, TakesEmptyInput) {
  const auto none = at::empty({0, 5}, at::kDouble);
  const auto got = testing::gradients(fused, {none, none, gain}, {none, none});
  EXPECT_EQ(got[0].sizes(), none.sizes());
  EXPECT_TRUE(got[2].equal(at::zeros({5}, at::kDouble)));
}

TEST_F(AddRmsNorm, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = at::get_num_threads();
  const Tensors in = {at::randn({1000, 96}), at::randn({1000, 96}), at::randn({96})};
  const Tensors up = {at::randn({1000, 96}), at::randn({1000, 96})};
  at::set_num_threads(1);
  const auto one = testing::gradients(fused, in, up);
  at::set_num_threads(2);
  const auto two = testing::gradients(fused, in, up);
  at::set_num_threads(threads_before);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i])) << i;
}

TEST_F(AddRmsNorm, GivesShapesWithoutDataOnTheMetaDevice) {
  const auto got = fused({residual.to(at::kMeta), branch.to(at::kMeta), gain.to(at::kMeta)});
  for (const auto& each : got) {
    EXPECT_TRUE(each.is_meta());
    EXPECT_EQ(each.sizes(), residual.sizes());
  }
}

TEST_F(AddRmsNorm, RejectsMismatchedArguments) {
  const auto message = [&](const at::Tensor& b, const at::Tensor& g) {
    return message_of([&] { ops::add_rms_norm(residual, b, g); });
  };
  EXPECT_EQ(message(branch[0], gain),
            "[add_rms_norm] branch must be [2, 3, 5] like residual, but is [3, 5]");
  EXPECT_EQ(message(branch.to(at::kFloat), gain),
            "[add_rms_norm] branch must be float64 on cpu like residual, but is float32 on cpu");
  EXPECT_EQ(message(branch, at::ones({4}, at::kDouble)),
            "[add_rms_norm] gain must be [5] to fit x [2, 3, 5], but is [4]");
}

}  // namespace
}  // namespace evenkeel
