// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace evenkeel::convert {
namespace {

using store::Dtype;

std::uint16_t narrowed(double value, Dtype dtype) {
  std::uint16_t bits = 0;
  narrow({&value, 1}, dtype, &bits);
  return bits;
}

double widened(std::uint16_t bits, Dtype dtype) {
  double value = 0;
  widen(&bits, dtype, {&value, 1});
  return value;
}

TEST(Elements, Bfloat16IsRoundedToNearestEven) {
  EXPECT_EQ(narrowed(1.0, Dtype::bf16), 0x3F80);
  EXPECT_EQ(narrowed(1.0 + 0x1p-8, Dtype::bf16), 0x3F80);  // a tie: to the even 1
  EXPECT_EQ(narrowed(1.0 + 3 * 0x1p-8, Dtype::bf16), 0x3F82);
  EXPECT_EQ(narrowed(1.0 + 0x1p-8 + 0x1p-20, Dtype::bf16), 0x3F81);
  EXPECT_EQ(narrowed(-0.0, Dtype::bf16), 0x8000);
  EXPECT_EQ(narrowed(3.4e38, Dtype::bf16), 0x7F80);
  EXPECT_TRUE(std::isnan(widened(narrowed(NAN, Dtype::bf16), Dtype::bf16)));
}

TEST(Elements, Float16IsRoundedToNearestEven) {
  EXPECT_EQ(narrowed(1.0, Dtype::f16), 0x3C00);
  EXPECT_EQ(narrowed(1.0 + 0x1p-11, Dtype::f16), 0x3C00);
  EXPECT_EQ(narrowed(1.0 + 3 * 0x1p-11, Dtype::f16), 0x3C02);
  EXPECT_EQ(narrowed(2.0 - 0x1p-12, Dtype::f16), 0x4000);  // carries into the exponent
  EXPECT_EQ(narrowed(65504, Dtype::f16), 0x7BFF);
  EXPECT_EQ(narrowed(65519, Dtype::f16), 0x7BFF);
  EXPECT_EQ(narrowed(65520, Dtype::f16), 0x7C00);
  EXPECT_EQ(narrowed(-0x1p-24, Dtype::f16), 0x8001);
  EXPECT_EQ(narrowed(0x1p-25, Dtype::f16), 0x0000);
  EXPECT_EQ(narrowed(0x1p-14 - 0x1p-26, Dtype::f16), 0x0400);  // the smallest normal number
  EXPECT_EQ(narrowed(-INFINITY, Dtype::f16), 0xFC00);
}

TEST(Elements, EveryNumberOf16BitsComesBack) {
  for (const auto dtype : {Dtype::f16, Dtype::bf16}) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const auto own = static_cast<std::uint16_t>(bits);
      const double value = widened(own, dtype);
      if (std::isnan(value)) continue;
      ASSERT_EQ(narrowed(value, dtype), own);
    }
  }
}

TEST(Elements, AValueIsRoundedToFloat32First) {
  // 1 + 2^-8 + 2^-40 is a tie of bfloat16 after it was rounded to float32.
  EXPECT_EQ(narrowed(1.0 + 0x1p-8 + 0x1p-40, Dtype::bf16), 0x3F80);
  float whole = 0;
  const double third = 1.0 / 3;
  narrow({&third, 1}, Dtype::f32, &whole);
  EXPECT_EQ(whole, 1.0F / 3);
}

}  // namespace
}  // namespace evenkeel::convert
