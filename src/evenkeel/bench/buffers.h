// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "evenkeel/kernels/cpu/streams.h"

namespace evenkeel::bench {

/// Some sets of inputs that are used in turn, more than the caches hold: what a training step finds
/// in memory is cold, too.
class Cycle {
 public:
  using Set = std::vector<at::Tensor>;

  /// \param make  of one set
  /// \param bytes  of one call, results included
  Cycle(double bytes, const std::function<Set()>& make);

  const Set& next() { return sets_[turn_++ % sets_.size()]; }

 private:
  std::vector<Set> sets_;
  std::size_t turn_ = 0;
};

/// A call that passes over fresh buffers of `bytes` a stream, in parallel, in turn.
std::function<void()> probe_of(int reads, int updates, int writes, double bytes);

}  // namespace evenkeel::bench
