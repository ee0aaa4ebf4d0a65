// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace evenkeel::memory {

/// Makes a caching allocator the CPU allocator of LibTorch. A freed block goes to a cache, and the
/// next tensor of about the same size uses it. A training step allocates the same sizes each time,
/// so in the steady state it makes no system calls and has no page faults.
///
/// Blocks are aligned to 64 bytes and lie in huge pages (HugePages). Sizes are rounded up by at
/// most 1/8. The cache never returns memory to the system. The caller calls this function once, at
/// the start of main(): older tensors keep their allocator. If the system has no memory, the
/// allocation throws c10::OutOfMemoryError with its size.
void install_caching_allocator();

/// Bytes of all blocks, allocated and cached, without the unused ends of chunks (HugePages).
std::size_t reserved_bytes();

/// Bytes of all live tensors, rounded up to block sizes.
std::size_t allocated_bytes();

/// The maximum of allocated_bytes() since the start or the last reset_peak_stats().
std::size_t peak_allocated_bytes();

/// Sets peak_allocated_bytes() to allocated_bytes().
void reset_peak_stats();

}  // namespace evenkeel::memory
