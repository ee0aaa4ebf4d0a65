// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace evenkeel::bench {

/// The tensors of one call.
using Tensors = std::vector<at::Tensor>;

/// Several copies of a call's inputs, used in rotation: together larger than the last-level cache,
/// since the inputs in a training step are cold, too.
template <typename T>
class RotatingBuffers {
 public:
  /// \param bytes  memory traffic of one call
  /// \param make   gives one copy of the inputs
  RotatingBuffers(double bytes, const std::function<T()>& make) {
    constexpr double kCold = 256e6;  // bytes: more than the last cache of the machines we know
    const auto count = std::clamp(static_cast<int>(std::ceil(kCold / bytes)), 2, 32);
    for (int i = 0; i < count; ++i) all_.push_back(make());
  }

  /// The copy that was used longest ago.
  const T& next() { return all_[next_++ % all_.size()]; }

 private:
  std::vector<T> all_;
  std::size_t next_ = 0;
};

/// A call that reads, updates or writes cold buffers of `bytes` a stream, in parallel, with next to
/// no arithmetic: the lower bound for an operator with equal traffic.
std::function<void()> bandwidth_probe(int reads, int updates, int writes, double bytes);

}  // namespace evenkeel::bench
