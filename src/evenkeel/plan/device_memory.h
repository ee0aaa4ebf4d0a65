// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel::plan {

/// Memory of ops::compute_device(), in bytes; 0 where it is unknown.
struct DeviceMemory {
  double free = 0;   // not in use
  double whole = 0;  // of the GPU; of the machine with its swap space
};

DeviceMemory device_memory();

/// What has that memory, for messages: "the machine", or "cuda:N".
std::string memory_owner();

}  // namespace evenkeel::plan
