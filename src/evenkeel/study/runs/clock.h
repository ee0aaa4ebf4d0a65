// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace evenkeel::study {

/// Monotonic time in seconds, with an arbitrary origin.
inline double seconds_now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace evenkeel::study
