// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/config/config.h"

namespace evenkeel::config {

/// The learning rate of each optimizer step, in closed form:
///
///   warm-up   first + (peak - first) * s / w                          s < w
///   cosine    low + (peak - low) * (1 + cos(pi * (s - w) / (T - w))) / 2
///   linear    low + (peak - low) * (T - s) / (T - w)
///   constant  peak
///   wsd       peak, then linear to low over the last `decay` steps, at most all T - w
///   after T   low (constant: peak)
///
/// s is the step from 1, w the warm-up and T the planned length, both in steps; low = floor * peak
/// and first = start * peak are learning rates. Each line but the first holds after the warm-up.
/// \source arXiv:2503.04598, appendix (warm-up and cosine); arXiv:2404.06395 (wsd)
class LearningRate {
 public:
  /// \param steps            planned length of the run, in steps
  /// \param tokens_per_step  converts lengths in tokens to steps
  LearningRate(const Schedule& schedule, std::int64_t steps, std::int64_t tokens_per_step);

  /// The learning rate of a step. \param step  from 1
  double rate(std::int64_t step) const;

  /// The warm-up w, in steps.
  double warmup() const { return warmup_; }

 private:
  Schedule schedule_;
  double steps_, warmup_, decay_;
};

}  // namespace evenkeel::config
