// SPDX-License-Identifier: Apache-2.0
#pragma once

// Takes precedence over CUDA's header of this name: conversions only, no arithmetic in bfloat16.
#include <bit>
#include <cstdint>

#include "kernels/cuda_emulated/vectors.h"

struct __nv_bfloat16 {
  std::uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 from) {
  return std::bit_cast<float>(std::uint32_t{from.bits} << 16);
}
/// Rounds to nearest, ties to even; NaN becomes 0x7FFF, as on the device.
inline __nv_bfloat16 __float2bfloat16_rn(float from) {
  const auto bits = std::bit_cast<std::uint32_t>(from);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {0x7FFF};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16)};
}
inline __nv_bfloat16 __float2bfloat16(float from) {
  return __float2bfloat16_rn(from);
}
inline std::uint16_t __bfloat16_as_ushort(__nv_bfloat16 from) {
  return from.bits;
}
inline __nv_bfloat16 __ushort_as_bfloat16(std::uint16_t from) {
  return {from};
}
inline float2 __bfloat1622float2(__nv_bfloat162 from) {
  return {__bfloat162float(from.x), __bfloat162float(from.y)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 from) {
  return __floats2bfloat162_rn(from.x, from.y);
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 from) {
  return from.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 from) {
  return from.y;
}
inline float __low2float(__nv_bfloat162 from) {
  return __bfloat162float(from.x);
}
inline float __high2float(__nv_bfloat162 from) {
  return __bfloat162float(from.y);
}
