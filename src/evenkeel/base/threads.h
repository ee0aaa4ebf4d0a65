// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The number of threads that this process can run at once.
struct ThreadLimit {
  int count = 1;
  std::string reason;  // why there are not more: "Resource temporarily unavailable"
};

/// Finds out how many threads, at most `count`, this process can run at once: creates the missing
/// ones and ends them. The OpenMP runtime ends the process with exit code 1 if a thread cannot be
/// created, so this check precedes it.
ThreadLimit thread_limit(int count);

/// Checks that this process can run `count` threads at once.
/// \throws Error (busy, exit code 75), with both numbers and the reason
void check_threads(int count);

}  // namespace evenkeel
