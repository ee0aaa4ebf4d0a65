// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/fiber.h"

#include <sys/mman.h>

#include <new>

#include "kernels/cuda_emulated/sanitizers.h"

namespace evenkeel::emulated {

namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kGuardBytes = 4096;  // below each stack: an overflow is a crash

}  // namespace

Fibers::Fibers() {
  void* const memory = mmap(nullptr, kMost * kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<char*>(memory);
  for (std::size_t i = 0; i < kMost; ++i)
    mprotect(stacks_ + i * kStackBytes, kGuardBytes, PROT_NONE);
}

Fibers::~Fibers() {
  munmap(stacks_, kMost * kStackBytes);
}

void Fibers::start(unsigned index, void (*body)(void*), void* argument) {
  char* const bottom = stacks_ + index * kStackBytes + kGuardBytes;
  const std::size_t bytes = kStackBytes - kGuardBytes;
  make_accessible(bottom, bytes);
  // Not all at the same distance from each other: they would share few sets of the cache.
  const std::size_t used = bytes - index % 61 * 192;
  fibers_[index] = {make_fcontext(bottom + used, used, &Fibers::enter), body, argument, nullptr};
}

void Fibers::resume(unsigned index) {
  current_ = index;
  Fiber& fiber = fibers_[index];
  void* fake_stack = nullptr;
  start_switch(&fake_stack, stacks_ + index * kStackBytes + kGuardBytes, kStackBytes - kGuardBytes);
  const transfer_t back = jump_fcontext(fiber.context, this);
  finish_switch(fake_stack, nullptr, nullptr);
  fiber.context = back.fctx;
}

void Fibers::suspend() {
  leave(/*ends=*/false);
}

void Fibers::leave(bool ends) {
  const unsigned self = current_;
  start_switch(ends ? nullptr : &fibers_[self].fake_stack, loop_stack_, loop_stack_bytes_);
  const transfer_t back = jump_fcontext(loop_, nullptr);
  finish_switch(fibers_[self].fake_stack, &loop_stack_, &loop_stack_bytes_);
  loop_ = back.fctx;
}

void Fibers::enter(transfer_t from) {
  auto& self = *static_cast<Fibers*>(from.data);
  finish_switch(nullptr, &self.loop_stack_, &self.loop_stack_bytes_);
  self.loop_ = from.fctx;
  const Fiber& fiber = self.fibers_[self.current_];
  fiber.body(fiber.argument);
  self.leave(/*ends=*/true);
}

}  // namespace evenkeel::emulated
