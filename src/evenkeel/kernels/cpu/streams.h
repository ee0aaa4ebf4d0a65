// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace evenkeel::kernels::cpu {

/// The memory traffic of an operator without its arithmetic: buffers that are read, that are read
/// and written in place, and that are written.
struct Streams {
  static constexpr int kMost = 4;
  int reads = 0, updates = 0, writes = 0;
  const float* read[kMost] = {};
  float* update[kMost] = {};
  float* write[kMost] = {};
};

/// One pass over the values begin .. end - 1 of all streams: every written value is the sum of the
/// values read, every updated one is added to.
///
/// \throws std::logic_error for numbers of streams that no operator of ours has
void pass_over(const Streams& streams, std::int64_t begin, std::int64_t end);

}  // namespace evenkeel::kernels::cpu
