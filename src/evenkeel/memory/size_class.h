// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>

/// Size classes of memory blocks: eight per doubling. A freed block serves later tensors of about
/// the same size, and at most 1/8 of a block is unused.
namespace evenkeel::memory {

inline constexpr std::size_t kMinBlockBytes = 64;      // one cache line
inline constexpr std::size_t kClassesPerDoubling = 8;  // size classes per doubling
inline constexpr std::size_t kClasses =
    1 + 41 * kClassesPerDoubling;  // up to 2^47 bytes, the user address space

/// The smallest size class with at least `bytes` bytes.
constexpr std::size_t size_class(std::size_t bytes) {
  if (bytes <= kMinBlockBytes) return 0;
  const std::size_t octave = std::bit_floor(bytes - 1);  // octave < bytes <= 2 * octave
  const std::size_t step = octave / kClassesPerDoubling;
  const std::size_t steps = (bytes - octave + step - 1) / step;  // 1 .. 8
  const auto doublings = static_cast<std::size_t>(std::countr_zero(octave / kMinBlockBytes));
  return doublings * kClassesPerDoubling + steps;
}

/// The block size of a class: 64, 72, 80, ... 128, 144, ... bytes.
constexpr std::size_t class_bytes(std::size_t class_index) {
  if (class_index == 0) return kMinBlockBytes;
  const std::size_t octave = kMinBlockBytes << (class_index - 1) / kClassesPerDoubling;
  return octave + octave / kClassesPerDoubling * ((class_index - 1) % kClassesPerDoubling + 1);
}

}  // namespace evenkeel::memory
