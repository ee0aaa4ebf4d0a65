// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "evenkeel/kernels/cpu/common/simd.h"
#include "evenkeel/kernels/cpu/common/vector_type.h"

namespace evenkeel::kernels::cpu {

inline constexpr int kLanes = 16;  // partial sums of a row, on every processor

/// kLanes values as vectors of kBytes bytes. The compiler would keep a vector longer than a
/// register in memory, and load and store it for each addition; registers of AVX2 have 32 bytes.
template <typename F, int kBytes = 32>
struct Vec16 {
  using V = typename VectorOf<F, kBytes>::Type;
  static constexpr int kPartSize = kBytes / static_cast<int>(sizeof(F)),
                       kCount = kLanes / kPartSize;
  V part[kCount] = {};

  [[gnu::always_inline]] void load(const F* from) {
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) load_vector(part[k], from + k * kPartSize);
  }
  [[gnu::always_inline]] void store(F* to) const {
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) store_vector(to + k * kPartSize, part[k]);
  }
};

/// Sixteen values from `from` on.
template <typename F>
[[gnu::always_inline]] inline void load_vec16(Vec16<F>& v, const F* from) {
  v.load(from);
}
[[gnu::always_inline]] inline void load_vec16(Vec16<float>& v, const Bf16* from) {
#pragma GCC unroll 8
  for (int k = 0; k < v.kCount; ++k) {
    VectorOf<std::uint16_t, 16>::Type bits;
    load_vector(bits, from + k * v.kPartSize);
    using Words = VectorOf<std::uint32_t, 32>::Type;
    const Words words = __builtin_convertvector(bits, Words) << 16;
    std::memcpy(&v.part[k], &words, sizeof words);
  }
}
/// The same in double. GCC 12 makes one instruction of the loop, and five of
/// __builtin_convertvector.
template <typename T>
  requires(!std::is_same_v<T, double>)
[[gnu::always_inline]] inline void load_vec16(Vec16<double>& v, const T* from) {
#pragma GCC unroll 8
  for (int k = 0; k < v.kCount; ++k) {
    double values[v.kPartSize];
    for (int j = 0; j < v.kPartSize; ++j) values[j] = load(from + k * v.kPartSize + j);
    load_vector(v.part[k], values);
  }
}

}  // namespace evenkeel::kernels::cpu
