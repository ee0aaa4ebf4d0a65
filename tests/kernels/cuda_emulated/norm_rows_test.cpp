// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/bounded.h"
#include "evenkeel/ops/norms/column_norm.h"
#include "evenkeel/ops/norms/row_norm.h"
#include "evenkeel/ops/norms/seed_norm.h"
#include "evenkeel/ops/norms/sphere.h"
#include "evenkeel/ops/norms/weight_norm.h"
#include "ops/gradients.h"

// Norms of rows of many widths, in and out of shared memory, and of rows whose squares leave the
// range of float, against their formulas in double.
namespace evenkeel {
namespace {

namespace reference = ops::reference;
using testing::Function;
using testing::Tensors;

constexpr double kEps = 1e-3;

struct NormCase {
  std::string name;
  std::string roles;  // of each input: r rows, v vector, d vector of float64, s [1] of float64
  Function run, formula;
  bool scales = true;  // takes rows of any size
};

NormCase row_norm_case(const std::string& name, const ops::RowNormOptions& options,
                       const Function& x_hat) {
  return {name, "rvv",
          [=](const Tensors& in) { return Tensors{ops::row_norm(in[0], in[1], in[2], options)}; },
          [=](const Tensors& in) { return Tensors{in[1] * x_hat(in)[0] + in[2]}; }};
}

NormCase bounded_case(const std::string& name, bool is_erf) {
  return {name, "rssvv",
          [=](const Tensors& in) {
            return Tensors{ops::bounded(in[0], in[1], in[2], in[3], in[4], is_erf)};
          },
          [=](const Tensors& in) {
            const auto u = in[1] * in[0] + in[2];
            return Tensors{in[3] * (is_erf ? at::erf(u) : at::tanh(u)) + in[4]};
          },
          false};
}

std::vector<NormCase> norm_cases_of_rows() {
  using ops::EpsilonAt;
  return {
      row_norm_case("centred", {.centred = true, .epsilon = kEps},
                    [](const Tensors& in) { return Tensors{reference::layer_rows(in[0], kEps)}; }),
      row_norm_case("centred, epsilon 0", {.centred = true, .epsilon = 0},
                    [](const Tensors& in) { return Tensors{reference::layer_rows(in[0], 0)}; }),
      row_norm_case("part", {.partial = 0.4, .epsilon = kEps, .epsilon_at = EpsilonAt::outside},
                    [](const Tensors& in) {
                      return Tensors{reference::rms_rows(in[0], kEps, EpsilonAt::outside, 0.4)};
                    }),
      row_norm_case("absmax8", {.epsilon = kEps, .absmax8 = true},
                    [](const Tensors& in) {
                      const auto most = in[0].detach().abs().amax(-1, /*keepdim=*/true) / 8;
                      return Tensors{reference::rms_rows(in[0] / most, kEps)};
                    }),
      {"seed_norm", "rvvvv",
       [](const Tensors& in) {
         return Tensors{ops::seed_norm(in[0], in[1], 0.02 * in[2], in[3], in[4], kEps)};
       },
       [](const Tensors& in) {
         const auto x_hat = reference::rms_rows(in[0], kEps);
         return Tensors{reference::seed_rows(in[0], x_hat, in[1], 0.02 * in[2]) + in[3] * x_hat +
                        in[4]};
       },
       false},
      bounded_case("tanh", false),
      bounded_case("erf", true),
      {"sphere_step", "rrd",
       [](const Tensors& in) { return Tensors{ops::sphere_step(in[0], in[1], in[2])}; },
       [](const Tensors& in) { return Tensors{reference::sphere_step(in[0], in[1], in[2])}; }},
      {"geodesic_step", "rrss",
       [](const Tensors& in) {
         return Tensors{ops::geodesic_step(in[0], in[1], in[2], in[3], 0.5)};
       },
       [](const Tensors& in) {
         return Tensors{reference::geodesic_step(in[0], in[1], in[2], in[3], 0.5)};
       }}};
}

Tensors inputs_of(const NormCase& one, std::int64_t rows, std::int64_t width, double scale,
                  at::ScalarType dtype) {
  Tensors all;
  const auto vectors = dtype == at::kDouble ? at::kDouble : at::kFloat;
  for (const char role : one.roles) {
    if (role == 'r') all.push_back((scale * at::randn({rows, width}, at::kDouble)).to(dtype));
    if (role == 'v') all.push_back(at::randn({width}, at::kDouble).to(vectors));
    if (role == 'd') all.push_back(at::rand({width}, at::kDouble));
    if (role == 's') all.push_back(0.3 + 0.5 * at::rand({1}, at::kDouble));
  }
  return all;
}

/// Each error is at most 32 roundings of the type of arithmetic, of the largest value, plus one
/// rounding to the dtype of `got`, where numbers below the normal ones may be 0. A single value may
/// be what is left of a sum that cancels.
void expect_near(const at::Tensor& got, const at::Tensor& wanted, const std::string& what) {
  const bool is_wide = wanted.scalar_type() == at::kDouble && got.scalar_type() == at::kDouble;
  const double rounding = got.scalar_type() == at::kBFloat16 ? 0x1p-8 : is_wide ? 0 : 0x1p-24;
  const double units = got.numel() == 1 ? 4096 : 32;
  const auto exact = wanted.to(at::kDouble);
  const auto bound =
      exact.abs() * (1.001 * rounding) + units * 0x1p-24 * exact.abs().max() + 0x1p-126;
  const auto error = (got.to(at::kDouble) - exact).abs();
  EXPECT_TRUE((error <= bound).all().item<bool>())
      << what << ": largest error " << error.max().item<double>() << " of "
      << exact.abs().max().item<double>();
}

void expect_formula(const NormCase& one, std::int64_t rows, std::int64_t width, double scale,
                    at::ScalarType dtype) {
  const auto in = inputs_of(one, rows, width, scale, dtype);
  Tensors exact;
  for (const auto& each : in) exact.push_back(each.to(at::kDouble));
  const auto what = one.name + ", width " + std::to_string(width) + ", scale " +
                    std::to_string(std::log10(scale)) + ", " + c10::toString(dtype);
  const auto dy = at::randn({rows, width}).to(dtype);
  expect_near(one.run(in)[0], one.formula(exact)[0], what);
  const auto got = testing::gradients(one.run, in, {dy});
  const auto wanted = testing::gradients(one.formula, exact, {dy.to(at::kDouble)});
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (wanted[i].abs().max().item<double>() > 3e38) continue;  // no number of the dtype
    expect_near(got[i], wanted[i], what + ", gradient " + std::to_string(i));
  }
}

TEST(EmulatedNorms, AreTheirFormulasForRowsOfAnyWidth) {
  at::manual_seed(0);
  for (const auto& one : norm_cases_of_rows()) {
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
      for (const std::int64_t width : {7, 72}) expect_formula(one, 67, width, 1, dtype);
      expect_formula(one, dtype == at::kFloat ? 67 : 5, 1100, 1, dtype);
    }
    expect_formula(one, 3, 12000, 1, at::kFloat);     // not in shared memory
    expect_formula(one, 3, 12001, 1, at::kBFloat16);  // the same, value by value
  }
}

TEST(EmulatedNorms, AreTheirFormulasForRowsOfAnySize) {
  at::manual_seed(1);
  for (const auto& one : norm_cases_of_rows()) {
    if (!one.scales) continue;
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      for (const double scale : {1e-30, 1e-18, 1e-10, 1e10, 1e21, 1e36}) {
        expect_formula(one, 3, 72, scale, dtype);
      }
    }
  }
}

// Means of any size cost no digits.
TEST(EmulatedNorms, OfRowsWithALargeMeanKeepTheirDigits) {
  at::manual_seed(2);
  const auto x = 1e6 + at::randn({5, 70, 24}, at::kDouble);
  const auto narrow = x.to(at::kFloat), exact = narrow.to(at::kDouble);
  expect_near(ops::column_norm(narrow, std::nullopt, std::nullopt, kEps).y,
              reference::instance_rows(exact, kEps), "column_norm");
  expect_near(ops::row_norm(narrow, std::nullopt, std::nullopt, {.centred = true, .epsilon = kEps}),
              reference::layer_rows(exact, kEps), "row_norm");
}

TEST(EmulatedNorms, OfZerosAreZeros) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto zeros = at::zeros({3, 40}, at::TensorOptions(dtype));
    for (const double epsilon : {0.0, kEps}) {
      const auto y = ops::row_norm(zeros, std::nullopt, std::nullopt, {.epsilon = epsilon});
      EXPECT_TRUE(y.equal(zeros));
    }
    const auto gain = at::ones({3}, dtype == at::kDouble ? at::kDouble : at::kFloat);
    EXPECT_TRUE(ops::weight_norm(zeros, gain).equal(zeros));
    EXPECT_TRUE(ops::sphere_step(zeros, zeros, at::ones({1}, at::kDouble)).equal(zeros));
    const auto one = at::ones({1}, at::kDouble);
    const auto g = at::ones_like(zeros);
    EXPECT_TRUE(ops::geodesic_step(zeros, g, one, one, 1).equal(g));
  }
}

TEST(EmulatedNorms, OfRowsWithANanAreNan) {
  for (const double poison : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto x = at::ones({3, 40});
    x[1][5] = poison;
    const auto one = at::ones({1}, at::kDouble), vector = at::ones({40});
    const auto other = at::randn({3, 40});
    for (const auto& y :
         {ops::row_norm(x, std::nullopt, std::nullopt, {.centred = true}),
          ops::row_norm(x, std::nullopt, std::nullopt, {.absmax8 = true}),
          ops::seed_norm(x, vector, vector, std::nullopt, std::nullopt, kEps),
          ops::sphere_step(x, other, one), ops::geodesic_step(x, other, one, one, 1)}) {
      EXPECT_TRUE(y[1].isnan().any().item<bool>());
      EXPECT_TRUE(y[0].isfinite().all().item<bool>() && y[2].isfinite().all().item<bool>());
    }
  }
}

}  // namespace
}  // namespace evenkeel
