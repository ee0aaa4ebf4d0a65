// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace evenkeel::memory {

/// From now on every CPU tensor of the process lives in a block that a cache keeps for the next
/// tensor of about that size. A training step asks for the same sizes again and again: in its
/// steady state it asks the system for nothing and takes no page faults.
///
/// Blocks are aligned to 64 bytes; those of 2 MiB and more are offered to the system as huge pages.
/// Sizes are rounded up by an eighth at most. Nothing is given back to the system.
/// Call it once, first thing in main(): tensors made earlier keep the allocator they came from.
/// A tensor that the system has no memory for throws c10::OutOfMemoryError, which says its size.
void cache_cpu_tensors();

/// What the cache has taken from the system so far, in bytes, whether in use or free.
std::size_t cached_bytes();

/// What tensors hold at this moment, in bytes of their (rounded) blocks.
std::size_t bytes_in_use();

/// The most that bytes_in_use() has been since the start or the last reset_peak().
std::size_t peak_bytes_in_use();

/// Lets peak_bytes_in_use() start again from what is in use now.
void reset_peak();

}  // namespace evenkeel::memory
