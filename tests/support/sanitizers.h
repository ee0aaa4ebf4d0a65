// SPDX-License-Identifier: Apache-2.0
#pragma once

// g++ defines the macro; clang says it by a feature.
#if defined(__SANITIZE_ADDRESS__)
#define EK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EK_SANITIZED 1
#endif
#endif

namespace evenkeel {

/// Whether the test is built with AddressSanitizer, which multiplies its time. Simulations that
/// say nothing about memory are short then.
#ifdef EK_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace evenkeel
