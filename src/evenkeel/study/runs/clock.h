// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace evenkeel::study {

/// Seconds since some moment in the past; never goes back.
inline double seconds_now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace evenkeel::study
