// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/sphere.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::gradients;
using testing::message_of;
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
      // What is left of g[5] beside x[5] is rounding: its direction is anything.
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

TEST(SphereSteps, HaveTheSameBitsOnOneThread) {
  at::manual_seed(8);
  const auto x = at::randn({300, 40}), g = at::randn({300, 40}), upstream = at::randn({300, 40});
  const auto step = at::rand({40}, at::kDouble), one = at::ones({1}, at::kDouble);
  const auto all = [&] {
    auto results =
        gradients([](const Tensors& in) { return Tensors{ops::sphere_step(in[0], in[1], in[2])}; },
                  {x, g, step}, {upstream});
    for (const auto& more : gradients(
             [](const Tensors& in) {
               return Tensors{ops::geodesic_step(in[0], in[1], in[2], in[3], 0.9)};
             },
             {x, g, one, 0 * one}, {upstream})) {
      results.push_back(more);
    }
    return results;
  };
  const auto threads = at::get_num_threads();
  at::set_num_threads(2);
  const auto several = all();
  at::set_num_threads(1);
  const auto alone = all();
  at::set_num_threads(threads);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(at::equal(alone[i], several[i])) << i;
}

TEST(SphereSteps, TakeRowsInAnyOrderAndNone) {
  at::manual_seed(9);
  const auto a = at::randn({6, 5, 3}, at::kDouble), b = at::randn({6, 5, 3}, at::kDouble);
  const auto step = at::rand({5}, at::kDouble), one = at::ones({1}, at::kDouble);
  const auto turned = [](const at::Tensor& x) { return x.transpose(-1, -2); };
  EXPECT_TRUE(at::equal(ops::sphere_step(turned(a), turned(b), step),
                        ops::sphere_step(turned(a).contiguous(), turned(b).contiguous(), step)));
  EXPECT_TRUE(
      at::equal(ops::geodesic_step(turned(a), turned(b), one, one, 0.1),
                ops::geodesic_step(turned(a).contiguous(), turned(b).contiguous(), one, one, 0.1)));
  const auto none = at::zeros({0, 5}, at::kDouble);
  const auto of_none =
      gradients([](const Tensors& in) { return Tensors{ops::sphere_step(in[0], in[1], in[2])}; },
                {none, none, step}, {none});
  EXPECT_TRUE(at::equal(of_none[2], at::zeros({5}, at::kDouble)));
  const auto turns = gradients(
      [](const Tensors& in) { return Tensors{ops::geodesic_step(in[0], in[1], in[2], in[3], 1)}; },
      {none, none, one, one}, {none});
  EXPECT_TRUE(at::equal(turns[2], 0 * one));
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

TEST(SphereSteps, RejectMismatchedArguments) {
  const auto x = at::zeros({2, 6});
  const auto step = at::ones({6}, at::kDouble), one = at::ones({1}, at::kDouble);
  EXPECT_EQ(message_of([&] { ops::sphere_step(x, at::zeros({2, 5}), step); }),
            "[sphere_step] towards must be [2, 6] like start, but is [2, 5]");
  const auto half = x.to(at::kHalf);
  EXPECT_EQ(message_of([&] { ops::sphere_step(half, half, step); }),
            "[sphere_step] start must be float32, bfloat16 or float64, but is float16");
  EXPECT_EQ(message_of([&] { ops::sphere_step(x, x, at::ones({6})); }),
            "[sphere_step] step must be float64 [1] or [D] on cpu, D = 6, but is float32 [6] on "
            "cpu");
  EXPECT_EQ(message_of([&] { ops::geodesic_step(x, x, one, step, 1); }),
            "[geodesic_step] bias must be float64 [1] on cpu, D = 6, but is float64 [6] on cpu");
}

}  // namespace
}  // namespace evenkeel
