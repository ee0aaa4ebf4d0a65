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
using Set = std::vector<at::Tensor>;

/// What a call works on, several times over, used in turn: together more than the caches hold,
/// since what a training step finds in memory is cold, too.
template <typename T>
class Cycle {
 public:
  /// \param bytes  that one call moves
  Cycle(double bytes, const std::function<T()>& make) {
    constexpr double kCold = 256e6;  // bytes: more than the last cache of the machines we know
    const auto count = std::clamp(static_cast<int>(std::ceil(kCold / bytes)), 2, 32);
    for (int i = 0; i < count; ++i) all_.push_back(make());
  }

  const T& next() { return all_[turn_++ % all_.size()]; }

 private:
  std::vector<T> all_;
  std::size_t turn_ = 0;
};

/// A call that passes over cold buffers of `bytes` a stream, in parallel.
std::function<void()> probe_of(int reads, int updates, int writes, double bytes);

}  // namespace evenkeel::bench
