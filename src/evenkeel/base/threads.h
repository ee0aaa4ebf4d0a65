// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel {

/// Checks that this process can run `count` threads at once: creates the missing ones and ends
/// them. The OpenMP runtime ends the process with exit code 1 if a thread cannot be created, so
/// this check precedes it.
/// \throws Error (busy, exit code 75), with both numbers and the reason
void check_threads(int count);

}  // namespace evenkeel
