// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "support/close.h"

namespace evenkeel::nn {
namespace {

// nn::linear() is called by its full name: of two tensors, `linear` is at::linear().

struct Gradients {
  at::Tensor y, x, w;
};

/// Of sum(y * weights), y = tanh(x) W^T.
/// \param recomputed  tanh(x) is not saved
Gradients gradients(at::ScalarType type, at::IntArrayRef sizes, bool recomputed) {
  at::manual_seed(1);
  const auto x = at::randn(sizes, at::kDouble).to(type).requires_grad_();
  const auto w = at::randn({7, sizes.back()}, at::kDouble).to(type).requires_grad_();
  const auto read = at::tanh(x);
  const auto y =
      recomputed
          ? nn::linear({read, x.detach(), [](const at::Tensor& saved) { return at::tanh(saved); }},
                       w)
          : nn::linear(read, w);
  (y * at::randn(y.sizes(), at::kDouble).to(type)).sum().backward();
  return {y.detach(), x.grad(), w.grad()};
}

TEST(Linear, HasTheSameBitsWhetherItsInputIsSavedOrRecomputed) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const auto& sizes : {std::vector<std::int64_t>{5, 3}, {2, 4, 6}, {1, 33, 64}}) {
      const auto saved = gradients(type, sizes, false);
      const auto recomputed = gradients(type, sizes, true);
      EXPECT_TRUE(recomputed.y.equal(saved.y));
      EXPECT_TRUE(recomputed.x.equal(saved.x));
      EXPECT_TRUE(recomputed.w.equal(saved.w));
    }
  }
}

// As in a model: the gradient buffer is float32, also if the weight is bfloat16.
TEST(Linear, AddsTheWeightGradientToTheGivenBuffer) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    at::manual_seed(2);
    const auto x = at::randn({3, 40, 32}, at::kDouble).to(type).requires_grad_();
    const auto w = at::randn({48, 32}, at::kDouble).to(type).requires_grad_();
    const auto dy = at::randn({3, 40, 48}, at::kDouble).to(type);
    nn::linear(x, w).backward(dy);
    const auto dx = x.grad().clone();
    const auto wide = type == at::kBFloat16 ? at::kFloat : type;
    const auto memory = at::ones({48, 32}, wide);
    const ops::GradientBuffer sum(memory);
    sum.accumulate(memory.clone());
    x.mutable_grad().reset();
    nn::linear(x, {w.detach().requires_grad_(), sum}).backward(dy);
    EXPECT_TRUE(x.grad().equal(dx));
    const auto exact = dy.flatten(0, 1).to(at::kDouble).t().mm(x.flatten(0, 1).to(at::kDouble));
    const double tolerance = type == at::kBFloat16 ? 2e-2 : type == at::kFloat ? 1e-5 : 1e-13;
    EXPECT_LT((sum.value().to(at::kDouble) - 1 - exact).abs().max().item<double>(),
              tolerance * exact.abs().max().item<double>());
    const auto fresh = w.detach().requires_grad_();
    nn::linear(x, {fresh, sum}).backward(dy);
    EXPECT_FALSE(fresh.grad().defined());
  }
}

struct Both {
  Gradients gradients;       // x is that of what the product read
  bool is_in_place = false;  // in the memory of the gradient that arrived
};

/// Of tanh(x W^T) + x, where x may be the residual that linear() returns.
/// \param is_shared  the gradient that arrives has another reference
Both gradients_of_both(at::ScalarType type, bool returns_residual, bool is_shared) {
  at::manual_seed(3);
  const auto x = at::randn({3, 40, 48}, at::kDouble).to(type).requires_grad_();
  const auto w = at::randn({48, 48}, at::kDouble).div(7).to(type).requires_grad_();
  const auto read = x * 1;
  Activation input = read;
  auto residual = read;
  if (returns_residual) input.residual_out = &residual;
  const auto y = nn::linear(input, w);
  const auto both = at::tanh(y) + residual;
  const auto d = at::randn(both.sizes(), at::kDouble).to(type);
  const auto before = d.clone();
  const void* arrived = nullptr;
  both.register_hook([&](const at::Tensor& gradient) { arrived = gradient.const_data_ptr(); });
  const auto found = torch::autograd::grad({is_shared ? both : both * 1}, {read, w}, {d});
  EXPECT_TRUE(d.equal(before)) << "who holds a gradient must find it as it was";
  return {{y.detach(), found[0], found[1]}, found[0].const_data_ptr() == arrived};
}

TEST(Linear, AddsTheGradientOfItsResidualOutput) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const auto exact =
        gradients_of_both(type, /*returns_residual=*/false, /*is_shared=*/true).gradients;
    const double tolerance = type == at::kBFloat16 ? 2e-2 : type == at::kFloat ? 1e-5 : 1e-13;
    for (const bool is_shared : {false, true}) {
      const auto [passed, is_in_place] =
          gradients_of_both(type, /*returns_residual=*/true, is_shared);
      EXPECT_EQ(is_in_place, !is_shared) << "no pass over memory where none is needed";
      EXPECT_TRUE(passed.y.equal(exact.y));
      EXPECT_TRUE(passed.w.equal(exact.w));
      EXPECT_TRUE(
          testing::close(passed.x.to(at::kDouble), exact.x.to(at::kDouble), tolerance, tolerance));
    }
  }
}

// The gradient that one layer returns is the residual gradient of the layer before it.
TEST(Linear, AddsToOneGradientThroughLayers) {
  const auto w = at::randn({48, 48}).div(7).requires_grad_();
  const auto read = at::randn({3, 40, 48}).requires_grad_() * 1;
  auto stream = read;
  for (int layer = 0; layer < 3; ++layer) {
    Activation input = stream;
    at::Tensor residual;
    input.residual_out = &residual;
    const auto y = nn::linear(input, w);
    stream = at::tanh(y) + residual;
  }
  const void* arrived = nullptr;
  stream.register_hook([&](const at::Tensor& gradient) { arrived = gradient.const_data_ptr(); });
  const auto found = torch::autograd::grad({stream * 1}, {read}, {at::randn(read.sizes())});
  EXPECT_EQ(found[0].const_data_ptr(), arrived) << "no copy between layers";
}

// The gradient of only one of the two outputs may be wanted.
TEST(Linear, GivesTheGradientOfEitherOutputAlone) {
  const auto w = at::randn({4, 4}, at::kDouble).requires_grad_();
  const auto x = at::randn({2, 4}, at::kDouble).requires_grad_();
  const auto gradient = [&](bool of_product) {
    Activation input = x * 1;
    at::Tensor residual;
    input.residual_out = &residual;
    const auto y = nn::linear(input, w);
    return torch::autograd::grad({of_product ? y.sum() : residual.sum()}, {x})[0];
  };
  EXPECT_TRUE(gradient(false).equal(at::ones_like(x)));
  EXPECT_TRUE(testing::close(gradient(true), w.sum(0).expand({2, 4}), 1e-13, 0));
  const at::NoGradGuard no_grad;
  Activation input = x;
  at::Tensor residual;
  input.residual_out = &residual;
  nn::linear(input, w);
  EXPECT_TRUE(residual.is_same(x));
}

TEST(Linear, SavesNothingThatIsRecomputed) {
  const auto w = at::randn({3, 4}).requires_grad_();
  const auto x = at::randn({2, 4});
  for (const bool recomputed : {false, true}) {
    auto read = x * 2;
    const c10::weak_intrusive_ptr<c10::TensorImpl> storage(read.getIntrusivePtr());
    const auto twice = [](const at::Tensor& saved) { return saved * 2; };
    const auto y = recomputed ? nn::linear({read, x, twice}, w) : nn::linear(read, w);
    read.reset();
    EXPECT_EQ(storage.expired(), recomputed);
    y.sum().backward();
  }
}

TEST(Linear, FreesWhatItSavedAfterTheBackwardPass) {
  const auto w = at::randn({3, 4}).requires_grad_();
  auto saved = at::randn({2, 4});
  const c10::weak_intrusive_ptr<c10::TensorImpl> storage(saved.getIntrusivePtr());
  const auto y = nn::linear({saved * 2, saved, [](const at::Tensor& x) { return x * 2; }}, w);
  saved.reset();
  EXPECT_FALSE(storage.expired());
  y.sum().backward();
  EXPECT_TRUE(storage.expired());
}

TEST(Linear, RefusesToRecomputeFromAChangedTensor) {
  const auto w = at::randn({3, 4}).requires_grad_();
  const auto saved = at::randn({2, 4});
  const auto y = nn::linear({saved * 2, saved, [](const at::Tensor& x) { return x * 2; }}, w);
  saved.mul_(3);
  EXPECT_THROW(y.sum().backward(), c10::Error);
}

TEST(Linear, RecomputesNothingWithoutAGradient) {
  const at::NoGradGuard no_grad;
  int calls = 0;
  const auto w = at::randn({3, 4}).requires_grad_();
  const auto x = at::randn({2, 4});
  nn::linear({x, x, [&](const at::Tensor& saved) { return ++calls, saved; }}, w);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace evenkeel::nn
