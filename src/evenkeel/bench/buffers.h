// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace evenkeel::bench {

/// The input or output tensors of one call.
using Tensors = std::vector<at::Tensor>;

/// Several copies of a call's inputs, used in rotation. Together they are larger than the
/// last-level cache, because inputs in a training step are not in the cache either.
template <typename T>
class RotatingBuffers {
 public:
  /// \param bytes  memory traffic of one call, in bytes
  /// \param make   creates one copy of the inputs
  RotatingBuffers(double bytes, const std::function<T()>& make) {
    constexpr double kCold = 256e6;  // bytes, above the last-level cache of known machines
    const auto count = std::clamp(static_cast<int>(std::ceil(kCold / bytes)), 2, 32);
    for (int i = 0; i < count; ++i) all_.push_back(make());
  }

  /// The least recently used copy.
  const T& next() { return all_[next_++ % all_.size()]; }

 private:
  std::vector<T> all_;
  std::size_t next_ = 0;
};

/// A call that reads, updates or writes uncached buffers of `bytes` each, in parallel and with
/// almost no arithmetic. Its time is the memory-bandwidth baseline of an operator with equal
/// traffic. On a GPU it is a copy with as many bytes.
std::function<void()> bandwidth_probe(int reads, int updates, int writes, double bytes);

/// A copy of kCopied bytes on the compute device, which it reads and writes.
std::function<void()> device_copy();
inline constexpr std::int64_t kCopied = std::int64_t{256} << 20;  // no cache holds so many

}  // namespace evenkeel::bench
