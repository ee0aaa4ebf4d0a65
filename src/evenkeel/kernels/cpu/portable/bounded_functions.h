// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// Functions of double whose loops become vector loops, which those over the library's do not:
/// without branches, always inlined. A NaN gives NaN.
namespace evenkeel::kernels::cpu {

/// c[0] x^n + c[1] x^(n-1) + ... + c[n].
template <int kCount>
[[gnu::always_inline]] inline double polynomial(const double (&c)[kCount], double x) {
  double sum = c[0];
#pragma GCC unroll 20
  for (int k = 1; k < kCount; ++k) sum = sum * x + c[k];
  return sum;
}

/// 1 / k!, from k = 13 on.
inline constexpr double kExp[] = {
    0x1.6124613a86d09p-33, 0x1.1eed8eff8d898p-29, 0x1.ae64567f544e4p-26, 0x1.27e4fb7789f5cp-22,
    0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10,
    0x1.1111111111111p-7,  0x1.5555555555555p-5,  0x1.5555555555555p-3,  0x1.0000000000000p-1,
    0x1.0000000000000p+0,  0x1.0000000000000p+0};

/// e^x for x <= 0, to two units in the last place; 0 below -700.
[[gnu::always_inline]] inline double exp_nonpositive_simd(double x) {
  constexpr double kLeast = -700, kRoundToWhole = 0x1.8p52, kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2Upper = 0x1.62e42fefap-1, kLn2Lower = 0x1.cf79abc9e3b39p-40;
  const double bounded = x < kLeast ? kLeast : x;
  const double shifted = bounded * kLog2E + kRoundToWhole;
  const double n = shifted - kRoundToWhole;
  const double r = (bounded - n * kLn2Upper) - n * kLn2Lower;
  const double y = polynomial(kExp, r);
  // n is in the low bits of `shifted` and is shifted to the exponent.
  const auto bits = std::bit_cast<std::int64_t>(y) + (std::bit_cast<std::int64_t>(shifted) << 52);
  const double scaled = y == y ? std::bit_cast<double>(bits) : y;  // not the exponent of a NaN
  return x < kLeast ? 0 : scaled;
}

/// A function that is bounded, and its derivative at the same place.
struct ValueAndSlope {
  double value, slope;
};

[[gnu::always_inline]] inline ValueAndSlope tanh_with_slope(double x) {
  const double size = x < 0 ? -x : x, square = size * size;
  const double e = exp_nonpositive_simd(-2 * size);
  const double far = (1 - e) / (1 + e);
  constexpr double kSeries[] = {62. / 2835, -17. / 315, 2. / 15, -1. / 3, 1};
  const double near = size * polynomial(kSeries, square);
  const double value = size < 0.03 ? near : far;
  return {x < 0 ? -value : value, 4 * e / ((1 + e) * (1 + e))};
}

/// 2 / sqrt(pi) (-1)^k / (k! (2k + 1)), from k = 17 on: erf(x) / x as a series of x^2.
inline constexpr double kErf[] = {
    -0x1.a2007af3447f6p-54, 0x1.d70b3537f4765p-50, -0x1.f56f071a885cfp-46, 0x1.f683ae4a97007p-42,
    -0x1.d8453cb0c46eap-38, 0x1.9e6ad5e55a730p-34, -0x1.51d7181c5d36dp-30, 0x1.fcc5720624c1cp-27,
    -0x1.5f742ec43e71ap-23, 0x1.b9e6c9dc651a3p-20, -0x1.f4d25c3e0c2ebp-17, 0x1.f9a326f9b89b7p-14,
    -0x1.c02db40040b86p-11, 0x1.565bcd0e6a53fp-8,  -0x1.b82ce31288b51p-6,  0x1.ce2f21a042be2p-4,
    -0x1.812746b0379e7p-2,  0x1.20dd750429b6dp+0};

/// erfc(x) e^(x^2) for 1 <= x <= 6, in powers of (x - 2) / (x + 2): to 9e-18 e^(x^2) (a Chebyshev
/// fit).
inline constexpr double kErfc[] = {
    -0x1.de7cb807e82e6p-23, 0x1.1640edd9e223dp-18,  0x1.f322e0892648ep-20, -0x1.db57ed0f1c283p-17,
    -0x1.cfbc05a3f041ap-16, 0x1.ce62d05252d06p-16,  0x1.6dab5fdd60b62p-13, 0x1.6d589c869e092p-15,
    -0x1.016b5e511a3f0p-10, -0x1.bc25a010847bep-11, 0x1.ca95ed532b303p-8,  0x1.e9471591b7446p-9,
    -0x1.437f0b68c0663p-4,  0x1.eeea7dc8a7bb2p-3,   -0x1.b57034efd3f74p-2, 0x1.058671b52c775p-2};

[[gnu::always_inline]] inline ValueAndSlope erf_with_slope(double x) {
  constexpr double kMost = 6, kTwoOverRootPi = 0x1.20dd750429b6dp+0;  // erfc(6) is 2e-17
  const double size = x < 0 ? -x : x, square = size * size;
  const double cut = size > kMost ? kMost : size;
  const double e = exp_nonpositive_simd(-square);
  const double far = 1 - e * polynomial(kErfc, (cut - 2) / (cut + 2));
  const double near = size * polynomial(kErf, square);
  const double value = size < 1 ? near : far;
  return {x < 0 ? -value : value, kTwoOverRootPi * e};
}

}  // namespace evenkeel::kernels::cpu
