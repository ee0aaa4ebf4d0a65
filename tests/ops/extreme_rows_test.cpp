// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/add_rms_norm.h"
#include "evenkeel/ops/norms/layer_norm.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "ops/gradients.h"

// Rows that ordinary float arithmetic gets wrong. The truth is the formula in float64, and for
// float64 rows the same rows divided by a power of two.
namespace evenkeel {
namespace {

using testing::Tensors;

constexpr std::int64_t kWidth = 64;
constexpr double kLargest = 3.38e38;  // nearly the largest number of bfloat16 and of float

/// Each error is at most 4 units in the last place (of 24 or 8 bits) of the largest expected value,
/// times sqrt(D).
::testing::AssertionResult within_units(const at::Tensor& actual, const at::Tensor& expected) {
  const bool narrow = actual.scalar_type() == at::kBFloat16;
  const double unit = narrow ? 0x1p-7 : 0x1p-23;
  const double spacing = narrow ? 0x1p-133 : 0x1p-149;  // of numbers below the smallest normal one
  const double largest = expected.abs().max().item<double>();
  const double error = (actual.to(at::kDouble) - expected).abs().max().item<double>();
  const double width = static_cast<double>(actual.size(-1));
  const double bound = 4 * std::sqrt(width) * std::max(unit * largest, spacing);
  if (error <= bound) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "error " << error << ", allowed " << bound;
}

struct Row {
  std::string name;
  at::Tensor values;  // [1, D], float64
};

/// Rows of the test plan: zeros, one value, constants, scales, alternating extremes, large means.
std::vector<Row> rows_at_the_limits() {
  const auto noise = at::randn({1, kWidth}, at::kDouble);
  const auto one_hot = at::zeros({1, kWidth}, at::kDouble);
  one_hot[0][7] = 1;
  const auto signs =
      at::where(at::arange(kWidth) % 2 == 0, 1.0, -1.0).to(at::kDouble).view({1, -1});
  std::vector<Row> rows = {{"zeros", at::zeros({1, kWidth}, at::kDouble)},
                           {"one hot", one_hot},
                           {"alternating largest numbers", kLargest * signs},
                           {"mean 1e6, deviations 1e-3", 1e6 + 1e-3 * noise},
                           {"mean 1e6, deviations 1", 1e6 + noise}};
  for (int power = -45; power <= 37; power += 2) {
    const double scale = std::pow(10.0, power);
    rows.push_back({"scale 1e" + std::to_string(power), scale * noise});
    rows.push_back(
        {"constant 1e" + std::to_string(power), at::full({1, kWidth}, scale, at::kDouble)});
  }
  rows.push_back({"scale 1e19", 1e19 * noise});
  return rows;
}

/// Forward and all gradients of `fused` on rows of `dtype`, against `formula` in float64.
void expect_exact(const testing::Function& fused, const testing::Function& formula,
                  at::ScalarType dtype, const std::vector<double>& sizes_of_dy) {
  at::manual_seed(0);
  const auto gain = at::randn({kWidth});
  const auto bias = at::randn({kWidth});
  for (const auto& row : rows_at_the_limits()) {
    for (const double size : sizes_of_dy) {
      const auto x = row.values.to(at::kFloat).to(dtype);
      const auto dy = (size * at::randn({1, kWidth})).to(dtype);
      const Tensors in = {x, gain, bias};
      const Tensors exact = {x.to(at::kDouble), gain.to(at::kDouble), bias.to(at::kDouble)};
      EXPECT_TRUE(within_units(fused(in)[0], formula(exact)[0])) << row.name << ": y";
      const auto got = testing::gradients(fused, in, {dy});
      const auto wanted = testing::gradients(formula, exact, {dy.to(at::kDouble)});
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (wanted[i].abs().max().item<double>() > kLargest) continue;  // no number of the dtype
        EXPECT_TRUE(within_units(got[i], wanted[i]))
            << row.name << ", dy " << size << ": gradient of input " << i;
      }
    }
  }
}

Tensors rms(const Tensors& in) {
  return {ops::rms_norm(in[0], in[1]) + 0 * in[2].sum().to(in[0].scalar_type())};
}
Tensors rms_formula(const Tensors& in) {
  return {ops::reference::rms_norm(in[0], in[1]) + 0 * in[2].sum()};
}
Tensors layer(const Tensors& in) {
  return {ops::layer_norm(in[0], in[1], in[2])};
}
Tensors layer_formula(const Tensors& in) {
  return {ops::reference::layer_norm(in[0], in[1], in[2])};
}

TEST(ExtremeRows, AreExactInRmsNorm) {
  expect_exact(rms, rms_formula, at::kFloat, {1, 1e-30, 1e30});
  expect_exact(rms, rms_formula, at::kBFloat16, {1, 1e-30, 1e30});
}

TEST(ExtremeRows, AreExactInLayerNorm) {
  expect_exact(layer, layer_formula, at::kFloat, {1, 1e-30, 1e30});
  expect_exact(layer, layer_formula, at::kBFloat16, {1, 1e-30, 1e30});
}

// A row of zeros gives exactly 0 and a finite gradient, also with epsilon 0.
TEST(ExtremeRows, OfZerosGiveZerosAndFiniteGradients) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const double epsilon : {0.0, 1e-5}) {
      const auto zeros = at::zeros({2, kWidth}, at::TensorOptions(dtype)).requires_grad_();
      const auto y = ops::rms_norm(zeros, std::nullopt, epsilon);
      EXPECT_TRUE(y.equal(at::zeros_like(y)));
      const auto dx = torch::autograd::grad({y}, {zeros}, {at::ones_like(y)})[0];
      EXPECT_TRUE(dx.isfinite().all().item<bool>());
      const auto z = ops::layer_norm(zeros, std::nullopt, std::nullopt, epsilon);
      EXPECT_TRUE(z.equal(at::zeros_like(z)));
      const auto dz = torch::autograd::grad({z}, {zeros}, {at::ones_like(z)})[0];
      EXPECT_TRUE(dz.isfinite().all().item<bool>());
    }
  }
}

// Stock LayerNorm gives 0.0093 for a constant row of 1234.
TEST(ExtremeRows, OfEqualValuesGiveExactlyTheBias) {
  at::manual_seed(0);
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const auto bias = at::randn({1000}, dtype);
    for (const double value : {1e-30, 0.1, 1234.0, 1e19, -1e30, 3e38}) {
      const auto row = at::full({1, 1000}, value, dtype);
      EXPECT_TRUE(ops::layer_norm(row, std::nullopt, bias)[0].equal(bias)) << value;
    }
  }
}

// With 2^k x and 4^k epsilon everything scales exactly, whatever k: y stays, dx is divided by 2^k.
TEST(ExtremeRows, OfFloat64NeitherOverflowNorVanish) {
  at::manual_seed(0);
  const auto x = at::randn({3, kWidth}, at::kDouble);
  const auto dy = at::randn({3, kWidth}, at::kDouble);
  const auto gain = at::randn({kWidth}, at::kDouble);
  const auto bias = at::randn({kWidth}, at::kDouble);
  for (const int power : {-900, -665, 665, 900, 1020}) {
    const double factor = std::ldexp(1.0, power);
    const auto with = [&](double scale, auto norm) {
      const auto leaf = (scale * x).requires_grad_();
      const auto y = norm(leaf);
      return Tensors{y, torch::autograd::grad({y}, {leaf}, {dy})[0] * scale};
    };
    const auto rms = [&](const at::Tensor& rows) { return ops::rms_norm(rows, gain, 0); };
    const auto layer = [&](const at::Tensor& rows) { return ops::layer_norm(rows, gain, bias, 0); };
    const auto add = [&](const at::Tensor& rows) {
      return std::get<1>(ops::add_rms_norm(rows / 2, rows / 2, gain, 0));
    };
    for (std::size_t i : {0, 1}) {
      EXPECT_TRUE(testing::close(with(factor, rms)[i], with(1, rms)[i], 1e-12, 1e-13)) << power;
      EXPECT_TRUE(testing::close(with(factor, layer)[i], with(1, layer)[i], 1e-12, 1e-13)) << power;
      EXPECT_TRUE(testing::close(with(factor, add)[i], with(1, add)[i], 1e-12, 1e-13)) << power;
    }
  }
}

// For rows far below sqrt(epsilon), y = gain * x / sqrt(epsilon).
TEST(ExtremeRows, OfFloat64LeaveSmallRowsToEpsilon) {
  const auto x = at::full({1, 3}, 1e-200, at::kDouble);
  EXPECT_TRUE(testing::close(ops::rms_norm(x, std::nullopt, 1e-4), 1e2 * x, 1e-12, 0));
}

// A NaN or an infinity in a row is seen in the row, and only there.
TEST(ExtremeRows, WithANanAreNanAndLeaveOtherRowsUnchanged) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      auto x = at::ones({3, kWidth}, at::TensorOptions(dtype));
      x[1][5] = poison;
      for (const auto& y :
           {ops::rms_norm(x, std::nullopt), ops::layer_norm(x, std::nullopt, std::nullopt)}) {
        EXPECT_TRUE(y[1].isnan().any().item<bool>());
        EXPECT_TRUE(y[0].isfinite().all().item<bool>());
        EXPECT_TRUE(y[2].isfinite().all().item<bool>());
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel
