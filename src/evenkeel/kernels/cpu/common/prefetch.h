// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace evenkeel::kernels::cpu {

/// Prefetches the cache line that is `bytes` after `at`, which may be past the end of the data.
[[gnu::always_inline]] inline void prefetch(const void* at, std::int64_t bytes) {
  // Pointer arithmetic past the end of an object is undefined, so the address is an integer.
  const auto address = reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(bytes);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}

}  // namespace evenkeel::kernels::cpu
