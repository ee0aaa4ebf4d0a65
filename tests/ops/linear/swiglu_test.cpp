// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/swiglu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::message_of;
using testing::Tensors;

Tensors fused(const Tensors& in) {
  return {ops::swiglu(in[0])};
}
/// arXiv:2002.05202, eq. 6 and 5:  Swish_1(xW) * xV,  Swish_1(z) = z sigmoid(z).
Tensors formula(const Tensors& in) {
  const auto halves = in[0].chunk(2, -1);
  return {halves[0] * halves[1] * at::sigmoid(halves[1])};
}

class Swiglu : public ::testing::Test {
 protected:
  Swiglu() { at::manual_seed(0); }
  at::Tensor products = 3 * at::randn({2, 3, 14}, at::kDouble);
  at::Tensor dy = at::randn({2, 3, 7}, at::kDouble);
};

// From the least number to the largest: no overflow on the way, and small values keep their digits.
TEST_F(Swiglu, IsExactOverTheWholeRangeOfFloat) {
  const auto gate = at::cat(
      {at::logspace(-44, 38, 300, 10.0, at::kDouble), at::linspace(0, 120, 400, at::kDouble)});
  const auto both = at::cat({gate, -gate}).to(at::kFloat);
  const auto in = at::stack({at::ones_like(both), both}, -1);
  const auto y = ops::swiglu(in).squeeze(-1).to(at::kDouble);
  const auto exact = both.to(at::kDouble) * at::sigmoid(both.to(at::kDouble));
  constexpr double kUnits = 5 * 0x1p-24;
  constexpr double kSubnormal = 4 * 0x1p-149;
  EXPECT_TRUE(close(y, exact, kUnits, kSubnormal * 200));
  const auto up = in.clone().requires_grad_();
  const auto gradient =
      torch::autograd::grad({ops::swiglu(up)}, {up}, {at::ones({both.numel(), 1}, at::kFloat)})[0];
  EXPECT_TRUE(gradient.isfinite().all().item<bool>());
}

TEST_F(Swiglu, RoundsOnceToBfloat16) {
  const auto in = products.to(at::kBFloat16);
  const auto exact = formula({in.to(at::kDouble)})[0];
  EXPECT_TRUE(close(ops::swiglu(in).to(at::kDouble), exact, 0x1p-8, 0));
}

// Around the ends of vectors; gates from far below to far above 0.
TEST_F(Swiglu, HasTheGradientsOfBfloat16) {
  for (const std::int64_t width : {3, 16, 24, 50, 176}) {
    const auto in = (8 * at::randn({7, 2 * width})).to(at::kBFloat16);
    const auto upstream = at::randn({7, width}).to(at::kBFloat16);
    const auto fused = [](const Tensors& x) { return Tensors{ops::swiglu(x[0])}; };
    const auto actual = testing::gradients(fused, {in}, {upstream})[0].to(at::kDouble);
    const auto exact =
        testing::gradients(formula, {in.to(at::kDouble)}, {upstream.to(at::kDouble)})[0];
    EXPECT_TRUE(close(actual, exact, 0x1p-8, 1e-6)) << width;
  }
}

// Around the ends of vectors, in every dtype.
TEST_F(Swiglu, RecomputesItsOutputInPlaceOfDy) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const std::int64_t width : {3, 16, 24, 50, 176}) {
      const auto in = (8 * at::randn({2, 7, 2 * width}, at::kDouble)).to(type);
      const auto upstream = at::randn({2, 7, width}, at::kDouble).to(type);
      const auto wanted = testing::gradients(fused, {in}, {upstream})[0];
      const auto place = upstream.clone();
      EXPECT_TRUE(ops::swiglu_backward_(place, in).equal(wanted)) << type << " " << width;
      EXPECT_TRUE(place.equal(ops::swiglu(in))) << type << " " << width;
    }
  }
}

TEST_F(Swiglu, RejectsDyThatCannotHoldItsOutput) {
  const auto refusal = [this](const at::Tensor& place) {
    return message_of([&] { ops::swiglu_backward_(place, products); });
  };
  const std::string wanted =
      "[swiglu_backward_] dy must be contiguous, [..., F] for up_gate [..., 2 * F] of the same "
      "dtype and device, but they are ";
  const std::string beside = " and [2, 3, 14] of float64";
  EXPECT_EQ(refusal(at::ones({2, 3, 8}, at::kDouble)),
            wanted + "[2, 3, 8] of float64 with strides [24, 8, 1]" + beside);
  EXPECT_EQ(refusal(dy.to(at::kFloat)),
            wanted + "[2, 3, 7] of float32 with strides [21, 7, 1]" + beside);
  EXPECT_EQ(refusal(at::ones({3, 2, 7}, at::kDouble).transpose(0, 1)),
            wanted + "[2, 3, 7] of float64 with strides [7, 14, 1]" + beside);
  const auto odd = [&] { ops::swiglu_backward_(at::ones({2, 3}), at::ones({2, 7})); };
  EXPECT_EQ(message_of(odd),
            wanted + "[2, 3] of float32 with strides [3, 1] and [2, 7] of float32");
}

TEST_F(Swiglu, RecomputesItsOutputForNonContiguousInput) {
  const auto turned = products.transpose(0, 1);
  const auto place = at::ones({3, 2, 7}, at::kDouble);
  ops::swiglu_backward_(place, turned);
  EXPECT_TRUE(place.equal(ops::swiglu(turned)));
  EXPECT_EQ(ops::swiglu_backward_(at::empty({0, 3}), at::empty({0, 6})).numel(), 0);
}

TEST_F(Swiglu, TakesRowsOfNoFeatures) {
  EXPECT_EQ(ops::swiglu(at::empty({4, 0})).sizes(), at::IntArrayRef({4, 0}));
}

TEST_F(Swiglu, KeepsNan) {
  const auto in = at::full({2}, std::nan(""), at::kFloat);
  EXPECT_TRUE(ops::swiglu(in).isnan().all().item<bool>());
}

}  // namespace
}  // namespace evenkeel
