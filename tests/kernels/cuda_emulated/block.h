// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kernels/cuda_emulated/launch.h"

/// The threads of one block, and what they do together. Each is a fiber that runs until it waits
/// for other threads. A wait that cannot end is an error, and so is every use that CUDA does not
/// define.
namespace evenkeel::emulated {

/// A call of one of CUDA's functions.
struct Call {
  const char* name = "";
  Place place;
};

/// Static shared memory lies in the first part of the arena, dynamic in the second.
constexpr std::size_t kDynamicOffset = 2 * kStaticBytes;
constexpr std::size_t kArenaBytes = kDynamicOffset + kMostSharedBytes + (std::size_t{1} << 10);

constexpr unsigned kLanes = 32;
constexpr std::size_t kLaneBytes = 24;  // that a lane can give to the other lanes at once
using LaneValues = std::array<std::array<char, kLaneBytes>, kLanes>;

/// Waits for all threads of the block.
/// \return the number of threads with a true predicate
unsigned sync_threads(bool predicate, const Call& call);

/// Waits for all lanes of the mask. Orders their accesses to memory.
void sync_warp(unsigned mask, const Call& call);

/// Waits for all lanes of the mask.
/// \return the lanes with a true predicate
unsigned ballot(unsigned mask, bool predicate, const Call& call);

/// Waits for all lanes of the mask.
/// \param value   at most kLaneBytes; replaced by that of lane `source`
void exchange(unsigned mask, unsigned source, void* value, std::size_t bytes, const Call& call);

/// Waits for all lanes of the warp.
/// \param value  at most kLaneBytes
/// \return the values of all lanes, until the next such call of the warp
const LaneValues& gather(const void* value, std::size_t bytes, const Call& call);

/// The lane of the thread that runs now.
unsigned lane();

/// Ends the launch with an error in the thread that runs now.
[[noreturn]] void fail_in(const Call& call, const std::string& complaint);
[[noreturn]] void fail_at(const std::string& place, const std::string& complaint);

/// Whether a thread of a kernel runs now, here.
extern constinit thread_local bool is_in_kernel;
bool is_fiber_stack(const void* address);

/// Memory of the block. One object of this class is one variable.
class SharedVariable {
 public:
  constexpr explicit SharedVariable(const char* name) : name_(name) {}
  void* here(std::size_t bytes, std::size_t alignment);

 private:
  const char* name_;
  std::size_t block_ = 0;
  void* address_ = nullptr;
};

void* dynamic_shared_memory();
template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(dynamic_shared_memory());
}

/// One launch.
struct Launch {
  const void* kernel = nullptr;
  Configuration configuration;
  void (*body)(const void*) = nullptr;
  const void* arguments = nullptr;
  std::size_t bytes = 0;
};

/// Runs one block after the other.
/// \throws std::runtime_error if a thread fails
void run_blocks(const Launch& launch);

}  // namespace evenkeel::emulated
