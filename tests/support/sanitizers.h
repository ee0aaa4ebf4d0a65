// SPDX-License-Identifier: Apache-2.0
#pragma once

// Functions of AddressSanitizer's run-time library, absent from a program without it.
extern "C" __attribute__((weak)) void __asan_init();
extern "C" __attribute__((weak)) int __asan_address_is_poisoned(const volatile void* address);

namespace evenkeel {

/// Whether the program is linked with AddressSanitizer, which multiplies its time. Simulations that
/// say nothing about memory are short then. The test itself may be compiled without it
/// (cmake/Sanitized.cmake).
inline bool is_sanitized() {
  return &__asan_init != nullptr;
}

/// Whether AddressSanitizer would report an access. Only if is_sanitized().
inline bool is_out_of_bounds(const void* address) {
  return __asan_address_is_poisoned(address) != 0;
}

}  // namespace evenkeel
