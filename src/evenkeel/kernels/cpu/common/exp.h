// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace evenkeel::kernels::cpu {

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
  constexpr float kLeast = -104;  // e^x is 0 in float32 below
  // 2^-149 is subnormal, so 2^n is a product of 2^(n + 65) and 2^-65.
  constexpr float kBiased = kRound + 127 + 65, kRest = 0x1p-65F;
  const float shifted = x * kLog2 + kBiased;
  const float n = shifted - kBiased;
  float y;
  exp_polynomial((x - n * kLn2High) - n * kLn2Low, y);
  // The low bits of `shifted` are n + 127 + 65; the shift moves them to the exponent of 2^(n + 65).
  y = y * std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23) * kRest;
  return x < kLeast ? 0 : y;
}
[[gnu::always_inline]] inline double exp_nonpositive(double x) {
  return std::exp(x);
}

/// e^x of each value of a float32 vector; 0 below -87. NaN gives NaN.
template <typename V>
[[gnu::always_inline]] inline void exp_nonpositive_vector(V& x) {
  using Bits [[gnu::vector_size(sizeof(V))]] = std::int32_t;
  constexpr float kLeast = -87, kRoundBiased = kRound + 127;
  const V shifted = x * kLog2 + kRoundBiased;
  const V n = shifted - kRoundBiased;
  const V r = (x - n * kLn2High) - n * kLn2Low;
  V y;
  exp_polynomial(r, y);
  // The low bits of `shifted` are n + 127; the shift moves them to the exponent of 2^n.
  y *= reinterpret_cast<V>(reinterpret_cast<Bits>(shifted) << 23);
  x = x < kLeast ? V{} : y;
}

}  // namespace evenkeel::kernels::cpu
