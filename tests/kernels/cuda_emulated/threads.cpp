// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/threads.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/cuda_emulated/checker.h"
#include "kernels/cuda_emulated/order.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace evenkeel::emulated {

constinit thread_local bool is_in_kernel = false;

namespace {

constexpr unsigned kNone = 0xFFFFFFFFU;

}  // namespace

void Block::start(const Launch& launch) {
  launch_ = &launch;
  const dim3 size = launch.configuration.block;
  count_ = size.x * size.y * size.z;
  ended_ = in_barrier_ = fresh_fibers_ = 0;
  free_fibers_.clear();
  failure_.clear();
  for (unsigned i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    thread.state = State::ready;
    thread.fiber = Fibers::kLoop;
    thread.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    thread.warp_syncs = 0;
    thread.is_sync = thread.is_gather = false;
    thread.pending.clear();
  }
}

/// The next thread of the warp that can run, or kNone.
unsigned Block::next_ready() {
  while (lanes_left_ > 0) {
    --lanes_left_;
    const auto index = first_lane_ + static_cast<unsigned>(lanes_.next());
    if (threads_[index].state == State::ready) return index;
  }
  return kNone;
}

/// Makes a thread the current one.
void Block::enter(unsigned index, unsigned fiber) {
  Thread& thread = threads_[index];
  current_ = index;
  thread.fiber = fiber;
  ::threadIdx = thread.index;
  checker().set_accessor({.thread = index,
                          .warp_syncs = thread.warp_syncs,
                          .stack_begin = fibers_.stack(fiber),
                          .stack_end = fibers_.stack(fiber + 1)});
}

/// Goes on with another thread of the warp, or with the loop, until something switches back.
void Block::go_on(bool ends) {
  is_in_kernel = false;
  const unsigned next = next_ready();
  if (next == kNone) {
    if (fibers_.current() != Fibers::kLoop) fibers_.switch_to(Fibers::kLoop, ends);
    return;
  }
  unsigned fiber = threads_[next].fiber;
  if (fiber == Fibers::kLoop) {
    fiber = fresh_fibers_;
    if (free_fibers_.empty()) {
      ++fresh_fibers_;
    } else {
      fiber = free_fibers_.back();
      free_fibers_.pop_back();
    }
    fibers_.start(fiber);
  }
  enter(next, fiber);
  fibers_.switch_to(fiber, ends);
}

/// Of a fiber: runs the current thread, and then others as long as they have not begun.
void Block::run_threads() {
  Block& self = block();
  for (;;) {
    is_in_kernel = true;
    self.launch_->body(self.launch_->arguments);
    is_in_kernel = false;
    self.current().state = State::ended;
    ++self.ended_;
    const unsigned fiber = self.fibers_.current();
    const auto before = std::pair(self.lanes_, self.lanes_left_);
    const unsigned next = self.next_ready();
    if (next == kNone || self.threads_[next].fiber != Fibers::kLoop) {
      std::tie(self.lanes_, self.lanes_left_) = before;
      self.free_fibers_.push_back(fiber);  // not started before go_on() has left it
      self.go_on(/*ends=*/true);
    }
    self.enter(next, fiber);
  }
}

void Block::wait(State how) {
  current().state = how;
  if (how == State::in_barrier) ++in_barrier_;
  go_on(/*ends=*/false);
  is_in_kernel = true;
}

/// Runs the threads of a warp until all of them wait for threads of other warps, or ended.
void Block::run_warp(unsigned warp) {
  first_lane_ = warp * kLanes;
  const unsigned lanes = std::min(kLanes, count_ - first_lane_);
  do {
    lanes_ = Order(order, phase_++, lanes);
    lanes_left_ = lanes;
    go_on(/*ends=*/false);
    if (!failure_.empty()) throw std::runtime_error(failure_);
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
  fibers_.switch_to(Fibers::kLoop);
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
