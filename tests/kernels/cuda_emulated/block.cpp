// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/block.h"

#include <cstring>

#include "kernels/cuda_emulated/checker.h"
#include "kernels/cuda_emulated/order.h"
#include "kernels/cuda_emulated/threads.h"

namespace evenkeel::emulated {

namespace {

/// Waits for the lanes of a mask, of which the caller must be one.
Thread& wait_for_lanes(unsigned mask, const Call& call) {
  if ((mask >> lane() & 1U) == 0) {
    fail_in(call, "calls " + std::string(call.name) + "() with mask " + text_of(mask) +
                      ", in which its lane " + std::to_string(lane()) + " is missing");
  }
  Thread& self = block().current();
  self.call = call;
  self.mask = mask;
  block().wait(State::in_warp);
  return self;
}

}  // namespace

unsigned lane() {
  return block().current_lane();
}

unsigned sync_threads(bool predicate, const Call& call) {
  Thread& self = block().current();
  self.call = call;
  self.predicate = predicate;
  block().wait(State::in_barrier);
  return self.count;
}

void sync_warp(unsigned mask, const Call& call) {
  Thread& self = block().current();
  self.is_sync = true;
  wait_for_lanes(mask, call);
  self.is_sync = false;
}

unsigned ballot(unsigned mask, bool predicate, const Call& call) {
  block().current().predicate = predicate;
  return wait_for_lanes(mask, call).count;
}

void exchange(unsigned mask, unsigned source, void* value, std::size_t bytes, const Call& call) {
  if ((mask >> source & 1U) == 0) {
    fail_in(call, "reads lane " + std::to_string(source) + " with " + std::string(call.name) +
                      "(), which its mask " + text_of(mask) + " lacks");
  }
  Thread& self = block().current();
  self.source = source;
  std::memcpy(self.value.data(), value, bytes);
  wait_for_lanes(mask, call);
  std::memcpy(value, self.received.data(), bytes);
}

const LaneValues& gather(const void* value, std::size_t bytes, const Call& call) {
  Thread& self = block().current();
  std::memcpy(self.value.data(), value, bytes);
  self.is_gather = true;
  wait_for_lanes(0xFFFFFFFFU, call);
  self.is_gather = false;
  return block().gathered();
}

void fail_in(const Call& call, const std::string& complaint) {
  block().fail(file_and_line(call.place), complaint);
}

void fail_at(const std::string& place, const std::string& complaint) {
  block().fail(place, complaint);
}

bool is_fiber_stack(const void* address) {
  return block().is_stack(static_cast<const char*>(address));
}

void* SharedVariable::here(std::size_t bytes, std::size_t alignment) {
  SharedMemory& memory = block().memory();
  if (block_ == memory.block()) return address_;
  const Call declaration{.name = name_, .place = block().place};
  address_ = memory.variable(name_, bytes, alignment);
  if (address_ == nullptr || memory.static_bytes() > kStaticBytes) {
    fail_in(declaration, "needs " + std::to_string(memory.static_bytes()) +
                             " bytes of static shared memory; " + std::to_string(kStaticBytes) +
                             " at most");
  }
  if (memory.static_bytes() + memory.dynamic_bytes() > card().shared_bytes) {
    fail_in(declaration, "needs " + std::to_string(memory.static_bytes() + memory.dynamic_bytes()) +
                             " bytes of shared memory; " + std::to_string(card().shared_bytes) +
                             " at most");
  }
  block_ = memory.block();
  return address_;
}

void* dynamic_shared_memory() {
  return block().memory().dynamic();
}

void run_blocks(const Launch& launch) {
  const dim3 grid = launch.configuration.grid;
  ::gridDim = grid;
  ::blockDim = launch.configuration.block;
  checker().begin_launch(launch.arguments, launch.bytes);
  const auto blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  block().place = launch.configuration.place;
  block().order = card().order();
  Order order(block().order, launch_count(), blocks);
  for (std::uint64_t i = 0; i < blocks; ++i) block().run(launch, order.next(), i);
}

}  // namespace evenkeel::emulated
