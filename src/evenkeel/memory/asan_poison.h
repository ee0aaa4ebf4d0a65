// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

/// Tells AddressSanitizer which bytes of a block are accessible: a cached block looks like freed
/// memory, and the rounding of a block in use like its end. Without the sanitizer these do nothing.
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
