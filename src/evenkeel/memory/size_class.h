// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>

/// Blocks come in classes, eight to a doubling, so that a freed block serves the next tensor of
/// about its size and an eighth is wasted at most.
namespace evenkeel::memory {

inline constexpr std::size_t kSmallest = 64;              // one cache line
inline constexpr std::size_t kSteps = 8;                  // classes to a doubling
inline constexpr std::size_t kClasses = 1 + 41 * kSteps;  // up to 2^47 bytes, all of user space

/// The smallest class whose blocks hold `bytes`.
constexpr std::size_t size_class(std::size_t bytes) {
  if (bytes <= kSmallest) return 0;
  const std::size_t octave = std::bit_floor(bytes - 1);  // octave < bytes <= 2 * octave
  const std::size_t step = octave / kSteps;
  const std::size_t steps = (bytes - octave + step - 1) / step;  // 1 .. 8
  const auto doublings = static_cast<std::size_t>(std::countr_zero(octave / kSmallest));
  return doublings * kSteps + steps;
}

/// What a block of this class holds: 64, 72, 80, ... 128, 144, ... bytes.
constexpr std::size_t class_bytes(std::size_t of_class) {
  if (of_class == 0) return kSmallest;
  const std::size_t octave = kSmallest << (of_class - 1) / kSteps;
  return octave + octave / kSteps * ((of_class - 1) % kSteps + 1);
}

}  // namespace evenkeel::memory
