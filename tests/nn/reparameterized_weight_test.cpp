// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/reparameterized_weight.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <vector>

#include "evenkeel/ops/common/reference.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using at::Tensor;
using ops::reference::sigma_rows;
using ops::reference::weight_norm_rows;
using testing::close;

/// [rows, columns] with a row of zeros.
Tensor matrix(std::int64_t rows, std::int64_t columns) {
  const auto v = at::randn({rows, columns}, at::kDouble);
  v[1].zero_();
  return v.requires_grad_();
}

// The formulas themselves, by operators that they do not use.
TEST(ReparameterizedWeight, HasTheFormulasOfTheRules) {
  at::manual_seed(2);
  const auto v = at::randn({15, 7}, at::kDouble), gain = at::randn({15}, at::kDouble);
  const auto lengths = at::linalg_vector_norm(v, 2, {1}, /*keepdim=*/true);
  EXPECT_TRUE(close(weight_norm_rows(v, gain), at::mm(gain.diag(), v / lengths), 1e-13, 1e-15));
  const auto gamma = at::full({1}, 0.7, at::kDouble);
  const auto left = at::randn({15}, at::kDouble), right = at::randn({7}, at::kDouble);
  const auto sigma = at::dot(left, at::mv(v, right));
  EXPECT_TRUE(close(sigma_rows(v, gamma, left, right), 0.7 * v / sigma, 1e-12, 1e-15));
}

TEST(ReparameterizedWeight, OfWeightNormIsItsFormula) {
  at::manual_seed(2);
  const auto v = matrix(150, 70), gain = at::randn({150}, at::kDouble).requires_grad_();
  const auto dw = at::randn({150, 70}, at::kDouble);
  const auto w = nn::weight_norm(v, gain), formula = weight_norm_rows(v, gain);
  EXPECT_TRUE(close(w, formula, 1e-14, 0));
  EXPECT_FALSE(w[1].any().item<bool>());
  const auto ours = torch::autograd::grad({w}, {v, gain}, {dw});
  const auto theirs = torch::autograd::grad({formula}, {v, gain}, {dw});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(close(ours[i], theirs[i], 1e-12, 1e-13)) << i;
}

TEST(ReparameterizedWeight, OfSigmaReparamIsItsFormula) {
  at::manual_seed(2);
  const auto v = matrix(150, 70), gamma = at::full({1}, 0.7, at::kDouble).requires_grad_();
  const auto left = at::randn({150}, at::kDouble), right = at::randn({70}, at::kDouble);
  const auto dw = at::randn({150, 70}, at::kDouble);
  const auto w = nn::sigma_reparam(v, gamma, left, right);
  const auto formula = sigma_rows(v, gamma, left, right);
  EXPECT_TRUE(close(w, formula, 1e-13, 0));
  // The state moves on before the backward pass.
  const auto theirs = torch::autograd::grad({formula}, {v, gamma}, {dw});
  left.zero_();
  right.zero_();
  const auto ours = torch::autograd::grad({w}, {v, gamma}, {dw});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(close(ours[i], theirs[i], 1e-11, 1e-12)) << i;
}

TEST(ReparameterizedWeight, OfZerosIsZeros) {
  const auto none = at::zeros({3, 4});
  const auto one = at::ones({1}), left = at::ones({3}), right = at::ones({4});
  EXPECT_TRUE(nn::weight_norm(none, left).equal(none));
  EXPECT_TRUE(nn::sigma_reparam(none, one, left, right).equal(none));
}

// Then it is a constant to the gradient.
TEST(ReparameterizedWeight, MayHaveASigmaOfZero) {
  const auto v = at::tensor({0., 1., 1., 0.}, at::kDouble).view({2, 2}).requires_grad_();
  const auto gamma = at::full({1}, 0.7, at::kDouble).requires_grad_();
  const auto first = at::tensor({1., 0.}, at::kDouble), dw = at::randn({2, 2}, at::kDouble);
  const auto ours =
      torch::autograd::grad({nn::sigma_reparam(v, gamma, first, first)}, {v, gamma}, {dw});
  const auto theirs = torch::autograd::grad({sigma_rows(v, gamma, first, first)}, {v, gamma}, {dw});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(close(ours[i], theirs[i], 1e-14, 1e-15)) << i;
}

TEST(ReparameterizedWeight, OfBfloat16HasTheGradientsOfItsFormula) {
  at::manual_seed(2);
  const auto v = at::randn({40, 70}).to(at::kBFloat16).requires_grad_();
  const auto dw = at::randn({40, 70}).to(at::kBFloat16);
  const auto gain = at::rand({40}).requires_grad_(), gamma = at::full({1}, 0.7F).requires_grad_();
  const auto left = at::rand({40}), right = at::rand({70});
  for (const bool is_sigma : {false, true}) {
    const auto by = is_sigma ? gamma : gain;
    const auto made = [&](const Tensor& of, const Tensor& factor, bool fused) {
      return is_sigma ? nn::sigma_reparam(of, factor, left.to(factor.scalar_type()),
                                          right.to(factor.scalar_type()), fused)
                      : nn::weight_norm(of, factor, fused);
    };
    const auto ours = torch::autograd::grad({made(v, by, true)}, {v, by}, {dw});
    const auto wide = v.detach().to(at::kDouble).requires_grad_();
    const auto factor = by.detach().to(at::kDouble).requires_grad_();
    const auto theirs =
        torch::autograd::grad({made(wide, factor, false)}, {wide, factor}, {dw.to(at::kDouble)});
    EXPECT_TRUE(ours[0].equal(theirs[0].to(at::kBFloat16))) << is_sigma;
    EXPECT_TRUE(close(ours[1], theirs[1], 1e-6, 0)) << is_sigma;
  }
}

TEST(ReparameterizedWeight, OfBfloat16IsRoundedOnce) {
  at::manual_seed(2);
  const auto v = at::randn({40, 70}).to(at::kBFloat16), wide = v.to(at::kDouble);
  const auto gain = at::rand({40}), left = at::rand({40}), right = at::rand({70});
  const auto in_double = [](const Tensor& x) { return x.to(at::kDouble); };
  EXPECT_TRUE(
      nn::weight_norm(v, gain).equal(weight_norm_rows(wide, in_double(gain)).to(at::kBFloat16)));
  const auto gamma = at::full({1}, 0.7F);
  const auto formula = sigma_rows(wide, in_double(gamma), in_double(left), in_double(right));
  EXPECT_TRUE(nn::sigma_reparam(v, gamma, left, right).equal(formula.to(at::kBFloat16)));
}

TEST(ReparameterizedWeight, FindsItsLargestSingularValueStepByStep) {
  at::manual_seed(2);
  const auto v = at::randn({150, 70}, at::kDouble);
  const auto left = at::zeros({150}, at::kDouble), right = at::ones({70}, at::kDouble);
  const auto unit = [](const Tensor& x) { return x / x.norm(); };
  const auto next_left = unit(at::mv(v, right)), next_right = unit(at::mv(v.t(), next_left));
  nn::power_iteration(v, left, right);
  EXPECT_TRUE(close(left, next_left, 1e-11, 1e-12));
  EXPECT_TRUE(close(right, next_right, 1e-11, 1e-12));
  for (int i = 0; i < 300; ++i) nn::power_iteration(v, left, right);
  const auto largest = at::linalg_svdvals(v)[0].item<double>();
  EXPECT_NEAR(at::dot(left, at::mv(v, right)).item<double>(), largest, 1e-4 * largest);
}

TEST(ReparameterizedWeight, HasTheSameBitsForEveryNumberOfThreads) {
  const auto before = at::get_num_threads();
  std::vector<std::vector<Tensor>> all;
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    at::manual_seed(2);
    const auto v = at::randn({3000, 70}).requires_grad_();
    const auto gain = at::rand({3000}).requires_grad_(), gamma = at::ones({1}).requires_grad_();
    const auto left = at::rand({3000}), right = at::rand({70});
    nn::power_iteration(v, left, right);
    const auto w = nn::weight_norm(v, gain) + nn::sigma_reparam(v, gamma, left, right);
    auto found = torch::autograd::grad({w.square().sum()}, {v, gain, gamma});
    found.insert(found.end(), {w.detach(), left, right});
    all.push_back(found);
  }
  at::set_num_threads(before);
  for (std::size_t i = 0; i < all[0].size(); ++i) EXPECT_TRUE(all[0][i].equal(all[1][i])) << i;
}

}  // namespace
}  // namespace evenkeel
