// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/gated_linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "evenkeel/nn/linear.h"
#include "evenkeel/ops/linear/swiglu.h"

namespace evenkeel::nn {
namespace {

at::Tensor linear_after_gate(const at::Tensor& products, const Weight& w) {
  return linear(ops::swiglu(products), w);
}

/// Products [2, 5, 2 * 24], w [7, 24] and an upstream gradient.
struct GatedLinearCase {
  explicit GatedLinearCase(at::ScalarType type) {
    at::manual_seed(1);
    products = at::randn({2, 5, 48}, at::kDouble).to(type).requires_grad_();
    w = at::randn({7, 24}, at::kDouble).to(type).requires_grad_();
    dy = at::randn({2, 5, 7}, at::kDouble).to(type);
  }
  at::Tensor products, w, dy;
};

constexpr auto kTypes = {at::kFloat, at::kDouble, at::kBFloat16};

TEST(GatedLinear, HasTheBitsOfALinearAfterAGate) {
  for (const auto type : kTypes) {
    const GatedLinearCase in(type);
    const auto results = [&](const auto& function) {
      const auto y = function(in.products, in.w);
      auto found = torch::autograd::grad({y}, {in.products, in.w}, {in.dy});
      found.push_back(y.detach());
      return found;
    };
    const auto ours = results(gated_linear), wanted = results(linear_after_gate);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(ours[i].equal(wanted[i])) << type << " " << i;
    }
  }
}

TEST(GatedLinear, AddsTheWeightGradientToTheGivenBuffer) {
  for (const auto type : kTypes) {
    const GatedLinearCase in(type);
    const auto wide = type == at::kBFloat16 ? at::kFloat : type;
    const auto summed = [&](const auto& function) {
      const ops::GradientBuffer sum(at::empty({7, 24}, wide));
      sum.accumulate(at::ones({7, 24}, wide));
      const auto w = in.w.detach().requires_grad_();
      function(in.products, Weight(w, sum)).backward(in.dy);
      EXPECT_FALSE(w.grad().defined());
      return sum.value();
    };
    EXPECT_TRUE(summed(gated_linear).equal(summed(linear_after_gate))) << type;
  }
}

// One of the two may be fixed; nobody's gradient is overwritten.
TEST(GatedLinear, GivesOneGradientAlone) {
  const GatedLinearCase in(at::kDouble);
  const auto before = in.dy.clone();
  const auto y = gated_linear(in.products, in.w);
  const auto both = torch::autograd::grad({y}, {in.products, in.w}, {in.dy});
  const auto of_products = gated_linear(in.products, in.w.detach());
  EXPECT_TRUE(torch::autograd::grad({of_products}, {in.products}, {in.dy})[0].equal(both[0]));
  const auto of_w = gated_linear(in.products.detach(), in.w);
  EXPECT_TRUE(torch::autograd::grad({of_w}, {in.w}, {in.dy})[0].equal(both[1]));
  EXPECT_TRUE(in.dy.equal(before));
}

TEST(GatedLinear, TakesNonContiguousAndEmptyInput) {
  const GatedLinearCase in(at::kDouble);
  const auto turned = in.products.detach().transpose(0, 1).requires_grad_();
  const auto dy = in.dy.sum(0, /*keepdim=*/true).transpose(0, 1).expand({5, 2, 7});
  const auto gradients = [&](const auto& function) {
    return torch::autograd::grad({function(turned, in.w)}, {turned, in.w}, {dy});
  };
  const auto ours = gradients(gated_linear), wanted = gradients(linear_after_gate);
  EXPECT_TRUE(ours[0].equal(wanted[0]));
  EXPECT_TRUE(ours[1].equal(wanted[1]));
  const auto none = at::empty({0, 48}, at::kDouble).requires_grad_();
  const auto y = gated_linear(none, in.w);
  EXPECT_EQ(y.sizes(), at::IntArrayRef({0, 7}));
  EXPECT_TRUE(torch::autograd::grad({y.sum()}, {in.w})[0].equal(at::zeros_like(in.w)));
}

TEST(GatedLinear, RefusesASecondDerivative) {
  const GatedLinearCase in(at::kDouble);
  const auto y = gated_linear(in.products, in.w).sum();
  EXPECT_THROW(torch::autograd::grad({y}, {in.w}, {}, /*retain_graph=*/true,
                                     /*create_graph=*/true),
               c10::Error);
}

}  // namespace
}  // namespace evenkeel::nn
