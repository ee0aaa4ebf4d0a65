// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

/// Compiles a function three times, and the processor chooses when the program is loaded: AVX-512,
/// AVX2 or plain x86-64. The loops stay ordinary C++ under `#pragma omp simd`; whatever they call
/// must be inlined to be compiled with them. Clang, which only reads sources here
/// (tools/check_tidy.sh), has no such attribute for templates.
#if defined(__x86_64__) && !defined(__clang__)
#define EK_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EK_CLONES
#endif

namespace evenkeel::kernels::cpu {

/// The bits of a bfloat16: the upper half of a float's.
struct Bf16 {
  std::uint16_t bits;
};

/// The type of arithmetic on T, and of gains and biases (at::OpMathType): float, or double for
/// double.
template <typename T>
using OpMathType = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The value at `from`, exactly.
inline double load(const double* from) {
  return *from;
}
inline double load(const float* from) {
  return static_cast<double>(*from);
}
inline double load(const Bf16* from) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(from->bits) << 16));
}

/// Rounds `value` to the type of `to`: to nearest, ties to even. A NaN stays a NaN.
inline void store(double* to, double value) {
  *to = value;
}
inline void store(float* to, double value) {
  *to = static_cast<float>(value);
}
/// By way of a float, which moves a tie of the second rounding by 2^-24 of the value at most.
inline void store(Bf16* to, double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const auto nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const auto quiet_nan = bits >> 16 | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  to->bits = static_cast<std::uint16_t>(is_nan ? quiet_nan : nearest);
}

}  // namespace evenkeel::kernels::cpu
