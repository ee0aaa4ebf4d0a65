// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

/// Vectors of the processor as a type, for code that must keep them in registers; elsewhere loops
/// under `#pragma omp simd` are enough.
namespace evenkeel::kernels::cpu {

/// A vector of kBytes bytes of elements F.
template <typename F, int kBytes>
struct VectorOf {
  using Type [[gnu::vector_size(kBytes)]] = F;
};

/// Unaligned load and store. By reference: passing a vector by value requires its instruction set.
template <typename V, typename F>
[[gnu::always_inline]] inline void load_vector(V& v, const F* from) {
  std::memcpy(&v, from, sizeof v);
}
template <typename V, typename F>
[[gnu::always_inline]] inline void store_vector(F* to, const V& v) {
  std::memcpy(to, &v, sizeof v);
}

}  // namespace evenkeel::kernels::cpu
