// SPDX-License-Identifier: Apache-2.0
#pragma once

// A function of AddressSanitizer's run-time library, absent from a program without it.
extern "C" __attribute__((weak)) void __asan_init();

namespace evenkeel {

/// Whether the program is linked with AddressSanitizer, which multiplies its time. Simulations that
/// say nothing about memory are short then. The test itself may be compiled without it
/// (cmake/Sanitized.cmake).
inline bool is_sanitized() {
  return &__asan_init != nullptr;
}

}  // namespace evenkeel
