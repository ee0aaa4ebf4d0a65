// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/elements.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "evenkeel/base/error.h"

namespace evenkeel::convert {

namespace {

using store::Dtype;

template <typename T>
T element(const void* from, std::size_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + i * sizeof(T), sizeof(T));
  return value;
}

/// float16 has 10 bits of mantissa and an exponent of 5 bits with bias 15.
double double_of_half(std::uint16_t bits) {
  constexpr int kMantissaBits = 10, kBias = 15, kInfinite = 31;
  const int exponent = (bits >> kMantissaBits) & kInfinite;
  const int mantissa = bits & ((1 << kMantissaBits) - 1);
  double value = 0;
  if (exponent == kInfinite) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - kBias - kMantissaBits);
  } else {
    value = std::ldexp(mantissa + (1 << kMantissaBits), exponent - kBias - kMantissaBits);
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

std::uint16_t bfloat16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  const std::uint32_t rounding = 0x7FFFU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>((bits + rounding) >> 16);
}

std::uint16_t half_of(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  const double size = std::fabs(static_cast<double>(value));
  constexpr double kOverflow = 65520;  // halfway between the largest float16 and 2^16
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (size >= kOverflow) return static_cast<std::uint16_t>(sign | 0x7C00U);
  constexpr double kSmallestNormal = 0x1p-14;
  constexpr int kMantissaBits = 10, kBias = 15, kSubnormalScale = 24;
  if (size < kSmallestNormal) {
    const auto steps = std::nearbyint(std::ldexp(size, kSubnormalScale));
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(steps));
  }
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // size = fraction 2^exponent, 0.5 <= . < 1
  const auto steps = std::nearbyint(std::ldexp(fraction, kMantissaBits + 1));  // 1024 to 2048
  const auto whole = (exponent - 1 + kBias) * (1 << kMantissaBits) +
                     (static_cast<int>(steps) - (1 << kMantissaBits));
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(whole));
}

}  // namespace

bool is_floating(Dtype dtype) {
  return dtype == Dtype::f64 || dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16;
}

void widen(const void* from, Dtype dtype, std::span<double> to) {
  EK_ASSERT(is_floating(dtype));
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (dtype == Dtype::f64) to[i] = element<double>(from, i);
    if (dtype == Dtype::f32) to[i] = static_cast<double>(element<float>(from, i));
    if (dtype == Dtype::f16) to[i] = double_of_half(element<std::uint16_t>(from, i));
    if (dtype == Dtype::bf16) {
      const auto bits = static_cast<std::uint32_t>(element<std::uint16_t>(from, i)) << 16;
      to[i] = static_cast<double>(std::bit_cast<float>(bits));
    }
  }
}

void narrow(std::span<const double> from, Dtype dtype, void* to) {
  EK_ASSERT(dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16);
  auto* next = static_cast<char*>(to);
  for (const double value : from) {
    const auto rounded = static_cast<float>(value);
    if (dtype == Dtype::f32) {
      std::memcpy(next, &rounded, sizeof rounded);
      next += sizeof rounded;
      continue;
    }
    const auto bits = dtype == Dtype::bf16 ? bfloat16_of(rounded) : half_of(rounded);
    std::memcpy(next, &bits, sizeof bits);
    next += sizeof bits;
  }
}

}  // namespace evenkeel::convert
