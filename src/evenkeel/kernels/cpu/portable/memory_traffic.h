// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace evenkeel::kernels::cpu {

/// The memory traffic of an operator without its arithmetic: buffers that are read, that are read
/// and written in place, and that are written.
struct MemoryTraffic {
  static constexpr int kMost = 4;
  int reads = 0, updates = 0, writes = 0;
  const float* read[kMost] = {};
  float* update[kMost] = {};
  float* write[kMost] = {};
};

/// One pass over the values begin .. end - 1 of all buffers: every written value is the sum of the
/// values read, every updated one is added to.
///
/// \throws std::logic_error for a traffic pattern that no operator has
void run_memory_traffic(const MemoryTraffic& traffic, std::int64_t begin, std::int64_t end);

}  // namespace evenkeel::kernels::cpu
