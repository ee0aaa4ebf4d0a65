// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/swiglu.h"

#include <gtest/gtest.h>

#include <bit>

#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::is_row;
using testing::wavy;

template <typename T>
class SwigluRow : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(SwigluRow, Types);

constexpr double kReach = 12;  // gates for which e^z is far above and far below 1
constexpr double kSize = 20;   // of what cancels: nothing but the last bits of double

double sigmoid(double z) {
  return 1 / (1 + std::exp(-z));
}

/// Values of a type compare as bits.
template <typename T>
std::vector<std::uint64_t> bits_of(const std::vector<T>& values) {
  std::vector<std::uint64_t> bits;
  for (const double each : exact(values)) bits.push_back(std::bit_cast<std::uint64_t>(each));
  return bits;
}

// y = up * gate / (1 + e^-gate); every tail that fills no vector.
TYPED_TEST(SwigluRow, FollowsItsFormulaAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto up = wavy<TypeParam>(width, 0.3), gate = wavy<TypeParam>(width, 1.1, kReach);
    std::vector<TypeParam> y(width);
    swiglu_row(up.data(), gate.data(), y.data(), static_cast<std::int64_t>(width));
    std::vector<double> truth;
    for (std::size_t i = 0; i < width; ++i) {
      const double z = exact(gate)[i];
      truth.push_back(exact(up)[i] * z * sigmoid(z));
    }
    EXPECT_TRUE(is_row(y, truth, kSize)) << width;
  }
}

TYPED_TEST(SwigluRow, FollowsTheFormulaOfItsGradientAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto up = wavy<TypeParam>(width, 0.3), gate = wavy<TypeParam>(width, 1.1, kReach);
    const auto dy = wavy<TypeParam>(width, 0.7);
    std::vector<TypeParam> dup(width), dgate(width);
    swiglu_row_backward<TypeParam>({.dy = dy.data(),
                                    .up = up.data(),
                                    .gate = gate.data(),
                                    .dup = dup.data(),
                                    .dgate = dgate.data()},
                                   static_cast<std::int64_t>(width));
    std::vector<double> of_up, of_gate;
    for (std::size_t i = 0; i < width; ++i) {
      const double z = exact(gate)[i], s = sigmoid(z), upstream = exact(dy)[i];
      of_up.push_back(upstream * z * s);
      of_gate.push_back(upstream * exact(up)[i] * s * (1 + z * (1 - s)));
    }
    EXPECT_TRUE(is_row(dup, of_up, kSize)) << width;
    EXPECT_TRUE(is_row(dgate, of_gate, kSize)) << width;
  }
}

// What the forward pass wrote comes back bit for bit, in the place of the upstream gradient.
TYPED_TEST(SwigluRow, RecomputesItsOutputInPlaceOfDy) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto up = wavy<TypeParam>(width, 0.3), gate = wavy<TypeParam>(width, 1.1, kReach);
    auto dy = wavy<TypeParam>(width, 0.7);
    const auto whole = static_cast<std::int64_t>(width);
    std::vector<TypeParam> y(width), dup(width), dgate(width), dup_apart(width), dgate_apart(width);
    swiglu_row(up.data(), gate.data(), y.data(), whole);
    SwigluGradient<TypeParam> row = {.dy = dy.data(),
                                     .up = up.data(),
                                     .gate = gate.data(),
                                     .dup = dup_apart.data(),
                                     .dgate = dgate_apart.data()};
    swiglu_row_backward(row, whole);
    row.dup = dup.data(), row.dgate = dgate.data(), row.y = dy.data();
    swiglu_row_backward(row, whole);
    EXPECT_EQ(bits_of(dy), bits_of(y)) << width;
    EXPECT_EQ(bits_of(dup), bits_of(dup_apart)) << width;
    EXPECT_EQ(bits_of(dgate), bits_of(dgate_apart)) << width;
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
