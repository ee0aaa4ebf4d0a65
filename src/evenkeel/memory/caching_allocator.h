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
void install_caching_allocator();

/// What the cache has reserved from the system so far, in bytes, allocated or free.
std::size_t reserved_bytes();

/// What tensors have allocated now, in bytes of their (rounded) blocks.
std::size_t allocated_bytes();

/// The most that allocated_bytes() has been since the start or the last reset_peak_stats().
std::size_t peak_allocated_bytes();

/// Resets peak_allocated_bytes() to allocated_bytes().
void reset_peak_stats();

}  // namespace evenkeel::memory
