// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>

/// Blocks come in classes, eight to a doubling, so that a freed block serves the next tensor of
/// about its size and an eighth is wasted at most.
namespace evenkeel::memory {

inline constexpr std::size_t kMinBlockBytes = 64;      // one cache line
inline constexpr std::size_t kClassesPerDoubling = 8;  // classes to a doubling
inline constexpr std::size_t kClasses =
    1 + 41 * kClassesPerDoubling;  // up to 2^47 bytes, all of user space

/// The smallest class whose blocks hold `bytes`.
constexpr std::size_t size_class(std::size_t bytes) {
  if (bytes <= kMinBlockBytes) return 0;
  const std::size_t octave = std::bit_floor(bytes - 1);  // octave < bytes <= 2 * octave
  const std::size_t step = octave / kClassesPerDoubling;
  const std::size_t steps = (bytes - octave + step - 1) / step;  // 1 .. 8
  const auto doublings = static_cast<std::size_t>(std::countr_zero(octave / kMinBlockBytes));
  return doublings * kClassesPerDoubling + steps;
}

/// What a block of this class holds: 64, 72, 80, ... 128, 144, ... bytes.
constexpr std::size_t class_bytes(std::size_t class_index) {
  if (class_index == 0) return kMinBlockBytes;
  const std::size_t octave = kMinBlockBytes << (class_index - 1) / kClassesPerDoubling;
  return octave + octave / kClassesPerDoubling * ((class_index - 1) % kClassesPerDoubling + 1);
}

}  // namespace evenkeel::memory
