// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/threads.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "kernels/cuda_emulated/checker.h"
#include "kernels/cuda_emulated/order.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace evenkeel::emulated {

constinit thread_local bool is_in_kernel = false;

void Block::start(const Launch& launch) {
  launch_ = &launch;
  const dim3 size = launch.configuration.block;
  count_ = size.x * size.y * size.z;
  ended_ = in_barrier_ = 0;
  failure_.clear();
  for (unsigned i = 0; i < count_; ++i) {
    threads_[i].state = State::ready;
    threads_[i].index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    threads_[i].warp_syncs = 0;
    threads_[i].is_sync = threads_[i].is_gather = false;
    threads_[i].pending.clear();
    fibers_.start(
        i,
        [](void* of) {
          auto& self = *static_cast<Block*>(of);
          self.launch_->body(self.launch_->arguments);
          is_in_kernel = false;
          self.current().state = State::ended;
          ++self.ended_;
        },
        this);
  }
}

void Block::resume(unsigned index) {
  current_ = index;
  ::threadIdx = threads_[index].index;
  checker().set_accessor({.thread = index,
                          .warp_syncs = threads_[index].warp_syncs,
                          .stack_begin = fibers_.stack(index),
                          .stack_end = fibers_.stack(index + 1)});
  is_in_kernel = true;
  fibers_.resume(index);
  is_in_kernel = false;
  if (!failure_.empty()) throw std::runtime_error(failure_);
}

void Block::wait(State how) {
  current().state = how;
  if (how == State::in_barrier) ++in_barrier_;
  is_in_kernel = false;
  fibers_.suspend();
}

/// Runs the threads of a warp until all of them wait for threads of other warps, or ended.
void Block::run_warp(unsigned warp) {
  const unsigned first = warp * kLanes;
  const unsigned lanes = std::min(kLanes, count_ - first);
  do {
    Order lane_order(order, phase_++, lanes);
    for (unsigned i = 0; i < lanes; ++i) {
      const auto index = first + static_cast<unsigned>(lane_order.next());
      if (threads_[index].state == State::ready) resume(index);
    }
  } while (complete_warp(warp));
}

/// The lanes of a warp that wait for the same as this one of them.
unsigned Block::lanes_with(unsigned index) const {
  unsigned found = 0;
  const Thread& one = threads_[index];
  const unsigned first = index / kLanes * kLanes;
  for (unsigned i = 0; i < kLanes && first + i < count_; ++i) {
    const Thread& thread = threads_[first + i];
    const bool waits = thread.state == State::in_warp && thread.mask == one.mask;
    if (waits && same(one.call, thread.call)) found |= 1U << i;
  }
  return found;
}

/// Ends the waits of lanes that are complete.
/// \return whether a lane can go on
bool Block::complete_warp(unsigned warp) {
  bool any = false;
  const unsigned first = warp * kLanes;
  unsigned checked = 0;
  for (unsigned i = 0; i < kLanes && first + i < count_; ++i) {
    const Thread& thread = threads_[first + i];
    if ((checked >> i & 1U) != 0 || thread.state != State::in_warp) continue;
    const unsigned lanes = lanes_with(first + i);
    checked |= lanes;
    if (lanes != thread.mask) continue;
    complete_lanes(first, thread.mask);
    any = true;
  }
  return any;
}

void Block::complete_lanes(unsigned first, unsigned mask) {
  unsigned predicates = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1U) != 0 && threads_[first + i].predicate) predicates |= 1U << i;
  }
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    Thread& thread = threads_[first + i];
    thread.received = threads_[first + thread.source].value;
    thread.count = predicates;
    thread.state = State::ready;
    if (thread.is_sync) ++thread.warp_syncs;
    if (thread.is_gather) gathered_[first / kLanes][i] = thread.value;
  }
}

void Block::complete_barrier() {
  if (in_barrier_ != count_) throw std::runtime_error(stuck());
  unsigned predicates = 0;
  for (unsigned i = 0; i < count_; ++i) {
    if (!same(threads_[i].call, threads_[0].call)) throw std::runtime_error(stuck());
    predicates += threads_[i].predicate ? 1 : 0;
  }
  for (unsigned i = 0; i < count_; ++i) {
    threads_[i].state = State::ready;
    threads_[i].count = predicates;
  }
  in_barrier_ = 0;
  checker().begin_interval();
}

void Block::fail(const std::string& at, const std::string& complaint) {
  is_in_kernel = false;
  failure_ = at + ": " + thread_text(current_) + ": " + complaint;
  fibers_.suspend();
  std::abort();  // it is not resumed
}

void Block::run(const Launch& launch, std::uint64_t number, std::uint64_t order_seed) {
  const dim3 grid = launch.configuration.grid;
  ::blockIdx = {static_cast<unsigned>(number % grid.x),
                static_cast<unsigned>(number / grid.x % grid.y),
                static_cast<unsigned>(number / grid.x / grid.y)};
  memory_.begin_block(launch.configuration.shared);
  start(launch);
  const unsigned warps = (count_ + kLanes - 1) / kLanes;
  for (phase_ = order_seed << 20;;) {
    Order warp_order(order, phase_++, warps);
    for (unsigned i = 0; i < warps; ++i) run_warp(static_cast<unsigned>(warp_order.next()));
    if (ended_ == count_) return;
    complete_barrier();
  }
}

}  // namespace evenkeel::emulated
