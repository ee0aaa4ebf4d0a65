// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/qkv_norm_rope.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::wavy;

template <typename T>
class NormRope : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(NormRope, Types);

/// 1 / sqrt(mean of x^2 + epsilon).
double rstd_of(const std::vector<double>& x, double epsilon) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
}

/// y = R(gain * x * factor) of one head in double; without a gain R x, without a rotation no R.
std::vector<double> rotated(const std::vector<double>& x, const std::vector<double>& gain,
                            double factor, const std::vector<double>& cos_sin) {
  auto y = x;
  for (std::size_t i = 0; i < gain.size(); ++i) y[i] *= factor * gain[i];
  const auto half = cos_sin.size() / 2;
  for (std::size_t j = 0; j < half; ++j) {
    const double a = y[j], b = y[j + half], c = cos_sin[j], s = cos_sin[j + half];
    y[j] = a * c - b * s;
    y[j + half] = b * c + a * s;
  }
  return y;
}

// As many heads as are taken together, and some; widths that go through vectors of their own, and
// others.
TYPED_TEST(NormRope, IsItsFormula) {
  constexpr std::size_t kHeads = 7;
  constexpr double kEpsilon = 1e-5;
  for (const std::size_t width : {16, 30, 32, 48, 64, 96, 128, 256}) {
    const auto x = wavy<TypeParam>(kHeads * width, 0.3);
    for (const auto& [has_gain, is_rotated] :
         {std::pair(false, true), {true, false}, {true, true}}) {
      const auto gain = wavy<OpMathType<TypeParam>>(has_gain ? width : 0, 1.1);
      const auto cos_sin = wavy<OpMathType<TypeParam>>(is_rotated ? width : 0, 0.5);  // any will do
      std::vector<TypeParam> y(kHeads * width);
      std::vector<double> rstd(kHeads, 1);
      norm_rope<TypeParam>({.x = x.data(),
                            .gain = has_gain ? gain.data() : nullptr,
                            .cos_sin = is_rotated ? cos_sin.data() : nullptr,
                            .y = y.data(),
                            .rstd = rstd.data(),
                            .count = kHeads,
                            .width = static_cast<std::int64_t>(width),
                            .epsilon = kEpsilon});
      for (std::size_t h = 0; h < kHeads; ++h) {
        const auto of_head = [&](const auto& all) { return testing::row_of(all, h, width); };
        const double factor = has_gain ? rstd_of(of_head(exact(x)), kEpsilon) : 1;
        EXPECT_NEAR(rstd[h] / factor, 1, 1e-6) << h << ", " << width;
        const auto truth = rotated(of_head(exact(x)), exact(gain), factor, exact(cos_sin));
        EXPECT_TRUE(testing::is_row(of_head(y), truth, 4))
            << "head " << h << " of " << width << ", gain " << has_gain << ", rotated "
            << is_rotated;
      }
    }
  }
}

/// The sum of sixteen lanes, added as a binary tree.
template <typename F>
F tree_sum(std::array<F, 16> lanes) {
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

/// True if these kernels have fused multiply-adds: those for AVX-512 name them, all others leave
/// them to the compiler, which makes none without optimization (cmake/Sanitized.cmake).
bool has_fused_multiply_adds() {
  return has_avx512() || std::getenv("EK_UNOPTIMIZED") == nullptr;
}

// One order of sums, one rounding for each product, fused multiply-adds in the rotation: the same
// bits with and without vectors of AVX-512.
TEST(NormRopeBits, AreThoseOfEveryProcessorWithFusedMultiplyAdds) {
  if (!has_fused_multiply_adds()) GTEST_SKIP() << "an unoptimized build without AVX-512";
  constexpr std::size_t kHeads = 6;
  constexpr double kEpsilon = 1e-5;
  for (const std::size_t width : {16, 32, 48, 64, 96, 128, 256}) {
    const auto x = wavy<float>(kHeads * width, 0.3), gain = wavy<float>(width, 1.1);
    const auto cos_sin = wavy<float>(width, 0.5);
    std::vector<float> y(kHeads * width);
    std::vector<double> rstd(kHeads);
    norm_rope<float>({.x = x.data(),
                      .gain = gain.data(),
                      .cos_sin = cos_sin.data(),
                      .y = y.data(),
                      .rstd = rstd.data(),
                      .count = kHeads,
                      .width = static_cast<std::int64_t>(width),
                      .epsilon = kEpsilon});
    const auto half = width / 2;
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto head = testing::row_of(x, h, width);
      std::array<double, 16> squares = {};
      for (std::size_t i = 0; i < width; ++i)
        squares[i % 16] += static_cast<double>(head[i]) * static_cast<double>(head[i]);
      const double mean = tree_sum(squares) / static_cast<double>(width);
      EXPECT_EQ(rstd[h], 1 / std::sqrt(mean + kEpsilon)) << width;
      const auto factor = static_cast<float>(rstd[h]);
      for (std::size_t j = 0; j < half; ++j) {
        const float a = head[j] * factor * gain[j];
        const float b = head[j + half] * factor * gain[j + half];
        const float c = cos_sin[j], s = cos_sin[j + half];
        EXPECT_EQ(y[h * width + j], std::fma(a, c, -(b * s))) << width;
        EXPECT_EQ(y[h * width + j + half], std::fma(b, c, a * s)) << width;
      }
    }
  }
}

TEST(NormRopeBits, OfTheBackwardPassAreThoseOfEveryProcessorWithThem) {
  if (!has_fused_multiply_adds()) GTEST_SKIP() << "an unoptimized build without AVX-512";
  constexpr std::size_t kHeads = 6;
  for (const std::size_t width : {16, 32, 48, 64, 96, 128, 256}) {
    const auto dy = wavy<float>(kHeads * width, 0.7), x = wavy<float>(kHeads * width, 0.3);
    const auto gain = wavy<float>(width, 1.1), cos_sin = wavy<float>(width, 0.5);
    std::vector<double> rstd;
    for (std::size_t h = 0; h < kHeads; ++h)
      rstd.push_back(rstd_of(exact(testing::row_of(x, h, width)), 0));
    std::vector<float> dx(kHeads * width), dgain_in_float(width);
    std::vector<double> dgain(width), scratch(width);
    norm_rope_backward<float>({.dy = dy.data(),
                               .x = x.data(),
                               .gain = gain.data(),
                               .cos_sin = cos_sin.data(),
                               .rstd = rstd.data(),
                               .dx = dx.data(),
                               .dgain = dgain.data(),
                               .scratch = scratch.data(),
                               .count = kHeads,
                               .width = static_cast<std::int64_t>(width)});
    const auto half = width / 2;
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto head = testing::row_of(dy, h, width), value = testing::row_of(x, h, width);
      const auto factor = static_cast<float>(rstd[h]);
      std::vector<float> g(width), x_hat(width);
      for (std::size_t j = 0; j < half; ++j) {
        const float a = head[j], b = head[j + half], c = cos_sin[j], s = -cos_sin[j + half];
        g[j] = std::fma(a, c, -(b * s));
        g[j + half] = std::fma(b, c, a * s);
      }
      std::array<float, 16> slopes = {};
      for (std::size_t i = 0; i < width; ++i) {
        x_hat[i] = value[i] * factor;
        slopes[i % 16] = std::fma(g[i] * gain[i], x_hat[i], slopes[i % 16]);
        dgain_in_float[i] = std::fma(g[i], x_hat[i], dgain_in_float[i]);
      }
      const auto mean =
          static_cast<float>(static_cast<double>(tree_sum(slopes)) / static_cast<double>(width));
      for (std::size_t i = 0; i < width; ++i)
        EXPECT_EQ(dx[h * width + i], factor * std::fma(g[i], gain[i], -(x_hat[i] * mean))) << width;
    }
    for (std::size_t i = 0; i < width; ++i)
      EXPECT_EQ(dgain[i], static_cast<double>(dgain_in_float[i])) << width;
  }
}

// The projection removes almost all of a gradient along x_hat, and float32 has too few digits for
// the rest. The next head keeps most of its gradient and is computed in float32.
TYPED_TEST(NormRope, KeepsDigitsUnderCancellation) {
  constexpr std::size_t kHeads = 2;
  for (const std::size_t width : {16, 30, 48, 64, 128}) {
    const auto x = wavy<TypeParam>(kHeads * width, 0.3);
    const auto ripple = wavy<double>(kHeads * width, 0.9);
    const std::vector<OpMathType<TypeParam>> gain(width, 1);
    const auto features = static_cast<double>(width);
    std::vector<TypeParam> dy(kHeads * width), dx(kHeads * width);
    std::vector<double> rstd, truth, dgain(width, 0.0), expected(width, 0.0), scratch(width);
    for (std::size_t h = 0; h < kHeads; ++h) {
      double dot = 0;
      rstd.push_back(rstd_of(exact(testing::row_of(x, h, width)), 0));
      const auto x_hat = [&](std::size_t i) { return exact(x)[h * width + i] * rstd[h]; };
      for (std::size_t i = 0; i < width; ++i) {
        const double along = h == 0 ? 2 * x_hat(i) : 0;
        store(&dy[h * width + i], along + (h == 0 ? 1e-3 : 1) * ripple[h * width + i]);
        dot += exact(dy)[h * width + i] * x_hat(i) / features;
      }
      for (std::size_t i = 0; i < width; ++i) {
        truth.push_back(rstd[h] * (exact(dy)[h * width + i] - x_hat(i) * dot));
        expected[i] += exact(dy)[h * width + i] * x_hat(i);
      }
    }
    norm_rope_backward<TypeParam>({.dy = dy.data(),
                                   .x = x.data(),
                                   .gain = gain.data(),
                                   .cos_sin = nullptr,
                                   .rstd = rstd.data(),
                                   .dx = dx.data(),
                                   .dgain = dgain.data(),
                                   .scratch = scratch.data(),
                                   .count = kHeads,
                                   .width = static_cast<std::int64_t>(width)});
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto got = testing::row_of(dx, h, width);
      EXPECT_TRUE(testing::is_row(got, testing::row_of(truth, h, width), 8 * rstd[h])) << width;
    }
    EXPECT_TRUE(testing::is_near(dgain, expected, 1e-13 + 2 * testing::kInFloat<TypeParam>));
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
