// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda_emulated/block.h"
#include "kernels/cuda_emulated/fiber.h"
#include "kernels/cuda_emulated/order.h"
#include "kernels/cuda_emulated/shared_memory.h"

// Device code reads them as constants (device.h).
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace evenkeel::emulated {

enum class State { ready, in_barrier, in_warp, ended };

/// 16 bytes on their way to shared memory.
struct PendingCopy {
  void* to = nullptr;
  std::array<char, 16> bytes{};
};

/// A thread, and what it waits for.
struct Thread {
  State state = State::ready;
  unsigned fiber = Fibers::kLoop;  // that runs it; kLoop: it has not begun
  uint3 index{};
  Call call;
  unsigned mask = 0, source = 0;  // of a wait for lanes
  bool predicate = false;
  unsigned count = 0;  // or lanes, with a true predicate
  unsigned warp_syncs = 0;
  bool is_sync = false;  // the wait for lanes orders memory
  std::array<char, kLaneBytes> value{}, received{};
  std::vector<PendingCopy> pending;
  bool is_gather = false;  // the values of all lanes are wanted
};

/// The threads of one block after the other, and the order in which they run.
class Block {
 public:
  void run(const Launch& launch, std::uint64_t number, std::uint64_t order_seed);
  void wait(State how);
  Thread& current() { return threads_[current_]; }
  unsigned current_lane() const { return current_ % kLanes; }
  bool is_stack(const char* at) const {
    return at >= fibers_.stack(0) && at < fibers_.stack(Fibers::kMost);
  }
  [[noreturn]] void fail(const std::string& at, const std::string& complaint);
  SharedMemory& memory() { return memory_; }

  /// The values of the lanes of this warp when its last gather was complete.
  const LaneValues& gathered() const { return gathered_[current_ / kLanes]; }

  int order = 1;            // of the launch (Card)
  std::string kernel_name;  // of the launch
  Place place;              // of the launch

 private:
  void start(const Launch& launch);
  static void run_threads();
  unsigned next_ready();
  void enter(unsigned index, unsigned fiber);
  void go_on(bool ends);
  void run_warp(unsigned warp);
  bool complete_warp(unsigned warp);
  unsigned lanes_with(unsigned index) const;
  void complete_lanes(unsigned first, unsigned mask);
  void complete_barrier();
  std::string stuck() const;
  std::string stuck(unsigned waiting) const;
  std::string thread_text(unsigned index) const;

  std::array<Thread, Fibers::kMost> threads_;
  Fibers fibers_{&Block::run_threads};
  std::vector<unsigned> free_fibers_;
  unsigned fresh_fibers_ = 0;  // from this one on they are free, too
  SharedMemory memory_;
  std::array<LaneValues, Fibers::kMost / kLanes> gathered_;
  const Launch* launch_ = nullptr;
  unsigned count_ = 0, current_ = 0, ended_ = 0, in_barrier_ = 0;
  std::uint64_t phase_ = 0;
  Order lanes_{1, 0, 0};  // of the warp that runs: the next ones
  unsigned lanes_left_ = 0, first_lane_ = 0;
  std::string failure_;
};

inline Block& block() {
  static constinit Block* the = nullptr;
  if (the == nullptr) [[unlikely]]
    the = new Block;
  return *the;
}

bool same(const Call& a, const Call& b);
std::string text_of(unsigned mask);
std::string file_and_line(const Place& place);

}  // namespace evenkeel::emulated
