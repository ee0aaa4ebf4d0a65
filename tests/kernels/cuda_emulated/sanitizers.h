// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/// What the address sanitizer must know of fibers and of memory that is handed out in parts;
/// nothing without it.
namespace evenkeel::emulated {

#ifdef __SANITIZE_ADDRESS__
inline void make_accessible(const void* begin, std::size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}
inline void make_inaccessible(const void* begin, std::size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}
inline void start_switch(void** save, const void* stack, std::size_t bytes) {
  __sanitizer_start_switch_fiber(save, stack, bytes);
}
inline void finish_switch(void* saved, const void** stack, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(saved, stack, bytes);
}
#else
inline void make_accessible(const void* /*begin*/, std::size_t /*bytes*/) {}
inline void make_inaccessible(const void* /*begin*/, std::size_t /*bytes*/) {}
inline void start_switch(void** /*save*/, const void* /*stack*/, std::size_t /*bytes*/) {}
inline void finish_switch(void* /*saved*/, const void** /*stack*/, std::size_t* /*bytes*/) {}
#endif

}  // namespace evenkeel::emulated
