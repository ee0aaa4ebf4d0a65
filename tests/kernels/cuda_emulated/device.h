// SPDX-License-Identifier: Apache-2.0
#pragma once

// What nvcc declares for device code, for the rewritten kernels (rewrite.py), which include it
// first.
#include <math.h>
#include <string.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda_emulated/block.h"
#include "kernels/cuda_emulated/cuda_bf16.h"
#include "kernels/cuda_emulated/cuda_runtime_api.h"
#include "kernels/cuda_emulated/ptx.h"

#define __CUDA_ARCH__ 900  // its instructions: ptx.h

// Constant for each thread: not checked as other memory is.
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
constexpr int warpSize = 32;

#define EK_PLACE const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

// --- barriers -----------------------------------------------------------------------------------

inline void __syncthreads(EK_PLACE) {
  evenkeel::emulated::sync_threads(false, {"__syncthreads", {file, line}});
}
inline int __syncthreads_count(int predicate, EK_PLACE) {
  return static_cast<int>(
      evenkeel::emulated::sync_threads(predicate != 0, {"__syncthreads_count", {file, line}}));
}
inline int __syncthreads_or(int predicate, EK_PLACE) {
  return evenkeel::emulated::sync_threads(predicate != 0, {"__syncthreads_or", {file, line}}) != 0;
}
inline int __syncthreads_and(int predicate, EK_PLACE) {
  return evenkeel::emulated::sync_threads(predicate == 0, {"__syncthreads_and", {file, line}}) == 0;
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU, EK_PLACE) {
  evenkeel::emulated::sync_warp(mask, {"__syncwarp", {file, line}});
}
inline void __threadfence() {}
inline void __threadfence_block() {}

// --- lanes of a warp ----------------------------------------------------------------------------

/// The types that CUDA's shuffles take.
template <typename T>
concept Shuffled =
    std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, long> ||
    std::same_as<T, unsigned long> || std::same_as<T, long long> ||
    std::same_as<T, unsigned long long> || std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, __nv_bfloat16> || std::same_as<T, __nv_bfloat162>;

namespace evenkeel::emulated {

template <typename T>
T shuffled(unsigned mask, T value, int source, int width, const Call& call) {
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    fail_in(call, "width must be a power of two up to 32, but is " + std::to_string(width));
  }
  exchange(mask, static_cast<unsigned>(source), &value, sizeof(T), call);
  return value;
}

/// The first lane of the group of `width` lanes.
inline int group_of(int width) {
  return static_cast<int>(lane()) & ~(width - 1);
}

}  // namespace evenkeel::emulated

template <Shuffled T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, EK_PLACE) {
  const int from = evenkeel::emulated::group_of(width) + (source & (width - 1));
  return evenkeel::emulated::shuffled(mask, value, from, width, {"__shfl_sync", {file, line}});
}
template <Shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, EK_PLACE) {
  const int lane = static_cast<int>(evenkeel::emulated::lane());
  const int from = lane - static_cast<int>(delta);
  const bool inside = from >= evenkeel::emulated::group_of(width);
  return evenkeel::emulated::shuffled(mask, value, inside ? from : lane, width,
                                      {"__shfl_up_sync", {file, line}});
}
template <Shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, EK_PLACE) {
  const int lane = static_cast<int>(evenkeel::emulated::lane());
  const int from = lane + static_cast<int>(delta);
  const bool inside = from < evenkeel::emulated::group_of(width) + width;
  return evenkeel::emulated::shuffled(mask, value, inside ? from : lane, width,
                                      {"__shfl_down_sync", {file, line}});
}
template <Shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, EK_PLACE) {
  const int lane = static_cast<int>(evenkeel::emulated::lane());
  const int from = lane ^ bits;
  const bool inside = from < evenkeel::emulated::group_of(width) + width;
  return evenkeel::emulated::shuffled(mask, value, inside ? from : lane, width,
                                      {"__shfl_xor_sync", {file, line}});
}
inline unsigned __ballot_sync(unsigned mask, int predicate, EK_PLACE) {
  return evenkeel::emulated::ballot(mask, predicate != 0, {"__ballot_sync", {file, line}});
}
inline int __any_sync(unsigned mask, int predicate, EK_PLACE) {
  return evenkeel::emulated::ballot(mask, predicate != 0, {"__any_sync", {file, line}}) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EK_PLACE) {
  return evenkeel::emulated::ballot(mask, predicate == 0, {"__all_sync", {file, line}}) == 0;
}
#undef EK_PLACE

// --- values -------------------------------------------------------------------------------------

template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}

template <typename A, typename B>
  requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<C>) return std::fmin(static_cast<C>(a), static_cast<C>(b));
  return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(a) : static_cast<C>(b);
}
template <typename A, typename B>
  requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<C>) return std::fmax(static_cast<C>(a), static_cast<C>(b));
  return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}

// As nvcc: the functions of C without a suffix also take float, then in float.
using std::exp;
using std::fabs;
using std::fmax;
using std::fmin;
using std::ilogb;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::ldexp;
using std::log;
using std::sqrt;
using std::tanh;

inline float rsqrtf(float x) {
  return 1 / std::sqrt(x);
}
inline float rsqrt(float x) {
  return 1 / std::sqrt(x);
}
inline double rsqrt(double x) {
  return 1 / std::sqrt(x);
}
/// 0 where the divisor is above 2^126, as on the device.
inline float __fdividef(float a, float b) {
  const float size = std::fabs(b);
  return size > 0x1p126F && size <= std::numeric_limits<float>::max() ? a * 0 : a / b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fsqrt_rn(float a) {
  return std::sqrt(a);
}
inline float __frcp_rn(float a) {
  return 1 / a;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
