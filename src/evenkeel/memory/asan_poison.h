// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

/// Marks the bytes of a block as accessible or inaccessible for AddressSanitizer: a cached block as
/// freed memory, and the rounding at the end of a used block as out of bounds. Without the
/// sanitizer, these functions do nothing.
namespace evenkeel::memory {

#if defined(__SANITIZE_ADDRESS__)
inline void poison(void* data, std::size_t bytes) {
  __asan_poison_memory_region(data, bytes);
}
inline void unpoison(void* data, std::size_t bytes) {
  __asan_unpoison_memory_region(data, bytes);
}
#else
inline void poison(void* /*data*/, std::size_t /*bytes*/) {}
inline void unpoison(void* /*data*/, std::size_t /*bytes*/) {}
#endif

}  // namespace evenkeel::memory
