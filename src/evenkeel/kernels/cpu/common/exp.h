// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace evenkeel::kernels::cpu {

/// 2^n; n from -126 to 127.
[[gnu::always_inline]] inline float power_of_two(std::int32_t n) {
  return std::bit_cast<float>((n + 127) << 23);
}

/// x = n ln 2 + r: n = (x kLog2 + kRound) - kRound, and ln 2 in two parts.
inline constexpr float kRound = 0x1.8p23F;
inline constexpr float kLog2 = 1.44269504F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;

/// e^r for |r| <= ln 2 / 2, of a float or of each value of a vector of them.
/// \source the polynomial is that of Cephes' expf (Moshier 1989)
template <typename V>
[[gnu::always_inline]] inline void exp_polynomial(const V& r, V& y) {
  V p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  y = p * r * r + r + 1;
}

/// e^x for x <= 0, to 2 units in the last place, subnormal results included. Compilers vectorize a
/// loop of this function, but not one of std::exp. NaN gives NaN.
///
///   x = n ln 2 + r, |r| <= ln 2 / 2;  e^x = 2^n e^r, e^r by a polynomial of degree 7
[[gnu::always_inline]] inline float exp_nonpositive(float x) {
  constexpr float kLeast = -104;                  // e^x is 0 in float32 below
  const float bounded = x < kLeast ? kLeast : x;  // a NaN stays
  const float n = (bounded * kLog2 + kRound) - kRound;
  float y;
  exp_polynomial((bounded - n * kLn2High) - n * kLn2Low, y);
  const float number = n >= kLeast * kLog2 - 1 ? n : 0;  // NaN: any number will do, since y is NaN
  const auto whole = static_cast<std::int32_t>(number);
  const auto half = whole >> 1;  // 2^-149 is subnormal, so it is a product of two factors
  return y * power_of_two(half) * power_of_two(whole - half);
}
[[gnu::always_inline]] inline double exp_nonpositive(double x) {
  return std::exp(x);
}

/// e^x of each value of a float32 vector; 0 below -87.
template <typename V>
[[gnu::always_inline]] inline void exp_nonpositive_vector(V& x) {
  using Bits [[gnu::vector_size(sizeof(V))]] = std::int32_t;
  constexpr float kLeast = -87;
  const V bounded = x < kLeast ? V{} : x;  // a NaN stays
  const V shifted = bounded * kLog2 + kRound;
  const V n = shifted - kRound;
  const V r = (bounded - n * kLn2High) - n * kLn2Low;
  V y;
  exp_polynomial(r, y);
  // The low bits of `shifted` are n; the shift moves them to the exponent. NaN stays NaN.
  const Bits scaled = reinterpret_cast<Bits>(y) + (reinterpret_cast<Bits>(shifted) << 23);
  x = x < kLeast ? V{} : y == y ? reinterpret_cast<V>(scaled) : y;
}

}  // namespace evenkeel::kernels::cpu
