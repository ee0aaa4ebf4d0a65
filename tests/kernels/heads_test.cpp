// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/heads.h"

#include <gtest/gtest.h>

#include "kernels/rows.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::wavy;

template <typename T>
class HeadsOfAToken : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(HeadsOfAToken, Types);

// Of a gradient along x_hat next to nothing is left, which float32 would not know; the head beside
// it, of which much is left, is taken in float32.
TYPED_TEST(HeadsOfAToken, KeepTheBitsOfWhatIsLeftOfAGradient) {
  constexpr std::size_t kHeads = 2;
  for (const std::size_t width : {16, 30, 48, 64, 128}) {
    const auto x = wavy<TypeParam>(kHeads * width, 0.3);
    const auto ripple = wavy<double>(kHeads * width, 0.9);
    const std::vector<Wide<TypeParam>> gain(width, 1);
    const auto features = static_cast<double>(width);
    std::vector<TypeParam> dy(kHeads * width), dx(kHeads * width);
    std::vector<double> rstd, truth, dgain(width, 0.0), expected(width, 0.0), scratch(width);
    for (std::size_t h = 0; h < kHeads; ++h) {
      double squares = 0, dot = 0;
      for (std::size_t i = 0; i < width; ++i) squares += std::pow(exact(x)[h * width + i], 2);
      rstd.push_back(1 / std::sqrt(squares / features));
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
    norm_and_turn_backward<TypeParam>({.dy = dy.data(),
                                       .x = x.data(),
                                       .gain = gain.data(),
                                       .turn = nullptr,
                                       .rstd = rstd.data(),
                                       .dx = dx.data(),
                                       .dgain = dgain.data(),
                                       .scratch = scratch.data(),
                                       .count = kHeads,
                                       .width = static_cast<std::int64_t>(width)});
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto of_head = [&](const auto& all) {
        const auto first = all.cbegin() + static_cast<std::ptrdiff_t>(h * width);
        return std::vector(first, first + static_cast<std::ptrdiff_t>(width));
      };
      EXPECT_TRUE(testing::is_row(of_head(dx), of_head(truth), 8 * rstd[h])) << h << ", " << width;
    }
    const double slack = 1e-13 + 2 * testing::kInFloat<TypeParam>;
    for (std::size_t i = 0; i < width; ++i) EXPECT_NEAR(dgain[i], expected[i], slack) << i;
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
