// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/computed_matrix.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <vector>

#include "support/close.h"

namespace evenkeel {
namespace {

using at::Tensor;
using testing::close;

/// [rows, columns] with a row of zeros.
Tensor matrix(std::int64_t rows, std::int64_t columns) {
  const auto v = at::randn({rows, columns}, at::kDouble);
  v[1].zero_();
  return v.requires_grad_();
}

Tensor weight_norm_formula(const Tensor& v, const Tensor& gain) {
  const auto square = v.square().sum(-1, /*keepdim=*/true);
  return gain.unsqueeze(-1) * v / at::where(square > 0, square, 1.0).sqrt();
}

Tensor sigma_formula(const Tensor& v, const Tensor& gamma, const Tensor& left,
                     const Tensor& right) {
  return gamma / at::dot(left, at::mv(v, right)) * v;
}

TEST(ComputedMatrix, OfWeightNormIsItsFormula) {
  at::manual_seed(2);
  const auto v = matrix(150, 70), gain = at::randn({150}, at::kDouble).requires_grad_();
  const auto dw = at::randn({150, 70}, at::kDouble);
  const auto w = nn::weight_normed(v, gain), formula = weight_norm_formula(v, gain);
  EXPECT_TRUE(close(w, formula, 1e-14, 0));
  EXPECT_FALSE(w[1].any().item<bool>());
  const auto ours = torch::autograd::grad({w}, {v, gain}, {dw});
  const auto theirs = torch::autograd::grad({formula}, {v, gain}, {dw});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(close(ours[i], theirs[i], 1e-12, 1e-13)) << i;
}

TEST(ComputedMatrix, OfSigmaReparametrisationIsItsFormula) {
  at::manual_seed(2);
  const auto v = matrix(150, 70), gamma = at::full({1}, 0.7, at::kDouble).requires_grad_();
  const auto left = at::randn({150}, at::kDouble), right = at::randn({70}, at::kDouble);
  const auto dw = at::randn({150, 70}, at::kDouble);
  const auto w = nn::sigma_reparametrized(v, gamma, left, right);
  const auto formula = sigma_formula(v, gamma, left, right);
  EXPECT_TRUE(close(w, formula, 1e-13, 0));
  // The state moves on before the backward pass.
  const auto theirs = torch::autograd::grad({formula}, {v, gamma}, {dw});
  left.zero_();
  right.zero_();
  const auto ours = torch::autograd::grad({w}, {v, gamma}, {dw});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(close(ours[i], theirs[i], 1e-11, 1e-12)) << i;
}

TEST(ComputedMatrix, OfZerosIsZeros) {
  const auto none = at::zeros({3, 4});
  const auto one = at::ones({1}), left = at::ones({3}), right = at::ones({4});
  EXPECT_TRUE(nn::weight_normed(none, left).equal(none));
  EXPECT_TRUE(nn::sigma_reparametrized(none, one, left, right).equal(none));
}

TEST(ComputedMatrix, OfBfloat16IsRoundedOnce) {
  at::manual_seed(2);
  const auto v = at::randn({40, 70}).to(at::kBFloat16), wide = v.to(at::kDouble);
  const auto gain = at::rand({40}), left = at::rand({40}), right = at::rand({70});
  const auto in_double = [](const Tensor& x) { return x.to(at::kDouble); };
  EXPECT_TRUE(nn::weight_normed(v, gain).equal(
      weight_norm_formula(wide, in_double(gain)).to(at::kBFloat16)));
  const auto gamma = at::full({1}, 0.7F);
  const auto formula = sigma_formula(wide, in_double(gamma), in_double(left), in_double(right));
  EXPECT_TRUE(nn::sigma_reparametrized(v, gamma, left, right).equal(formula.to(at::kBFloat16)));
}

TEST(ComputedMatrix, FindsItsLargestSingularValueStepByStep) {
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

TEST(ComputedMatrix, HasTheSameBitsForEveryNumberOfThreads) {
  const auto before = at::get_num_threads();
  std::vector<std::vector<Tensor>> all;
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    at::manual_seed(2);
    const auto v = at::randn({3000, 70}).requires_grad_();
    const auto gain = at::rand({3000}).requires_grad_(), gamma = at::ones({1}).requires_grad_();
    const auto left = at::rand({3000}), right = at::rand({70});
    nn::power_iteration(v, left, right);
    const auto w = nn::weight_normed(v, gain) + nn::sigma_reparametrized(v, gamma, left, right);
    auto found = torch::autograd::grad({w.square().sum()}, {v, gain, gamma});
    found.insert(found.end(), {w.detach(), left, right});
    all.push_back(found);
  }
  at::set_num_threads(before);
  for (std::size_t i = 0; i < all[0].size(); ++i) EXPECT_TRUE(all[0][i].equal(all[1][i])) << i;
}

}  // namespace
}  // namespace evenkeel
