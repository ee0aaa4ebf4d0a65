// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/sphere.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::gradients;
using testing::Tensors;
namespace reference = ops::reference;

/// Rows of every sort: ordinary ones, zeros, one so short that it is not made longer, large ones.
at::Tensor rows_of_every_sort() {
  auto x = at::randn({70, 12}, at::kDouble);  // two blocks of rows
  x[1].zero_();
  x[2].mul_(1e-14);
  x[3].mul_(1e6);
  return x;
}

TEST(SphereStep, IsItsFormulaWithAllGradients) {
  at::manual_seed(5);
  const auto start = rows_of_every_sort(), towards = rows_of_every_sort().roll(1, 0);
  const auto upstream = at::randn_like(start);
  for (const auto& step : {at::rand({12}, at::kDouble), at::full({1}, 0.3, at::kDouble)}) {
    const Tensors inputs = {start, towards, step};
    const auto fused = [](const Tensors& in) {
      return Tensors{ops::sphere_step(in[0], in[1], in[2])};
    };
    const auto formula = [](const Tensors& in) {
      return Tensors{reference::sphere_step(in[0], in[1], in[2])};
    };
    EXPECT_TRUE(close(fused(inputs)[0], formula(inputs)[0], 1e-13, 1e-15));
    const auto got = gradients(fused, inputs, {upstream});
    const auto wanted = gradients(formula, inputs, {upstream});
    // Rows of length 1e-14 have gradients of 1e12.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(close(got[i], wanted[i], 1e-11, 1e-13)) << i;
    }
  }
}

TEST(GeodesicStep, IsItsFormulaWithAllGradients) {
  at::manual_seed(6);
  auto x = rows_of_every_sort(), g = rows_of_every_sort().roll(1, 0);
  g[5].copy_(x[5] * 2);  // along x: no direction is left
  g[6].mul_(1e-3);       // a small angle
  g[7].zero_();
  const auto upstream = at::randn_like(x);
  struct Turn {
    double scale, bias, decay;
  };
  for (const auto [scale, bias, decay] : {Turn{1, 0, 1}, Turn{0.7, 0.05, 0.5}, Turn{3, -0.2, 1}}) {
    const Tensors inputs = {x, g, at::full({1}, scale, at::kDouble),
                            at::full({1}, bias, at::kDouble)};
    const auto fused = [decay = decay](const Tensors& in) {
      return Tensors{ops::geodesic_step(in[0], in[1], in[2], in[3], decay)};
    };
    const auto formula = [decay = decay](const Tensors& in) {
      return Tensors{reference::geodesic_step(in[0], in[1], in[2], in[3], decay)};
    };
    EXPECT_TRUE(close(fused(inputs)[0], formula(inputs)[0], 1e-12, 1e-14));
    const auto got = gradients(fused, inputs, {upstream});
    const auto wanted = gradients(formula, inputs, {upstream});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      // g[5] is parallel to x[5], so its projection is rounding noise of any direction.
      auto a = got[i].clone(), b = wanted[i].clone();
      if (i < 2) a[5].zero_(), b[5].zero_();
      EXPECT_TRUE(a.isfinite().all().item<bool>()) << i;
      EXPECT_TRUE(close(a, b, 1e-9, 1e-12)) << i;
    }
  }
}

// Of bfloat16: the formula in double, rounded once.
TEST(SphereSteps, RoundOnce) {
  at::manual_seed(7);
  const auto a = at::randn({9, 40}).to(at::kBFloat16), b = at::randn({9, 40}).to(at::kBFloat16);
  const auto step = at::rand({40}, at::kDouble), one = at::ones({1}, at::kDouble);
  const auto rounded = [](const at::Tensor& x) { return x.to(at::kFloat).to(at::kBFloat16); };
  EXPECT_TRUE(at::equal(ops::sphere_step(a, b, step), rounded(reference::sphere_step(a, b, step))));
  EXPECT_TRUE(at::equal(ops::geodesic_step(a, b, one, 0 * one, 0.5),
                        rounded(reference::geodesic_step(a, b, one, 0 * one, 0.5))));
}

// What goes back to float32 and bfloat16 is the gradient in double, rounded once.
TEST(SphereSteps, RoundGradientsOnce) {
  at::manual_seed(10);
  const auto step = at::rand({40}, at::kDouble), one = at::ones({1}, at::kDouble);
  const auto sphere = [&](const Tensors& in) {
    return Tensors{ops::sphere_step(in[0], in[1], step)};
  };
  const auto geodesic = [&](const Tensors& in) {
    return Tensors{ops::geodesic_step(in[0], in[1], one, 0 * one, 0.5)};
  };
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto a = at::randn({9, 40}).to(dtype), b = at::randn({9, 40}).to(dtype);
    const auto upstream = at::randn({9, 40}).to(dtype);
    for (const testing::Function& run : {testing::Function(sphere), testing::Function(geodesic)}) {
      const auto got = gradients(run, {a, b}, {upstream});
      const auto exact =
          gradients(run, {a.to(at::kDouble), b.to(at::kDouble)}, {upstream.to(at::kDouble)});
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(at::equal(got[i], exact[i].to(at::kFloat).to(dtype))) << i;
      }
    }
  }
}

TEST(SphereSteps, DoNotHideNaN) {
  const auto one = at::ones({1}, at::kDouble);
  const auto plain = at::ones({1, 2}, at::kDouble);
  const auto bad = at::tensor({1.0, std::nan("")}, at::kDouble).view({1, 2});
  for (const auto& [x, g] : {std::pair(plain, bad), std::pair(bad, plain)}) {
    EXPECT_TRUE(ops::geodesic_step(x, g, one, one, 0.5).isnan().all().item<bool>());
    EXPECT_TRUE(ops::reference::geodesic_step(x, g, one, one, 0.5).isnan().all().item<bool>());
  }
}

}  // namespace
}  // namespace evenkeel
