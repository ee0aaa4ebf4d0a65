// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel {

/// Available memory of this machine in bytes (MemAvailable of /proc/meminfo); 0 if unknown.
double available_bytes();

/// Installed memory plus swap space of this machine in bytes; 0 if unknown.
double total_bytes();

}  // namespace evenkeel
