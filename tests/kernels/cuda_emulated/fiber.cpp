// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_emulated/fiber.h"

#include <sys/mman.h>

#include <new>

#include "kernels/cuda_emulated/sanitizers.h"

#ifdef __SANITIZE_ADDRESS__
/// What a fiber holds when an error ends it is lost.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:evenkeel::emulated::Fibers::enter\n";
}
#endif

namespace evenkeel::emulated {

namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kGuardBytes = 4096;  // below each stack: an overflow is a crash

Fibers* the = nullptr;

}  // namespace

Fibers::Fibers(void (*body)()) : body_(body) {
  the = this;
  void* const memory = mmap(nullptr, kMost * kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<char*>(memory);
  for (unsigned i = 0; i < kMost; ++i) {
    char* const bottom = stacks_ + i * kStackBytes;
    mprotect(bottom, kGuardBytes, PROT_NONE);
    fibers_[i].stack = bottom + kGuardBytes;
    fibers_[i].stack_bytes = kStackBytes - kGuardBytes;
  }
}

Fibers::~Fibers() {
  munmap(stacks_, kMost * kStackBytes);
}

void Fibers::start(unsigned index) {
  char* const bottom = stacks_ + index * kStackBytes + kGuardBytes;
  make_accessible(bottom, kStackBytes - kGuardBytes);
  // Not all at the same distance from each other: they would share few sets of the cache.
  const std::size_t used = kStackBytes - kGuardBytes - index % 61 * 192;
  fibers_[index].context = make_fcontext(bottom + used, used, &Fibers::enter);
}

void Fibers::switch_to(unsigned index, bool ends) {
  Fiber& self = fibers_[current_];
  current_ = index;
  const Fiber& next = fibers_[index];
  start_switch(ends ? nullptr : &self.fake_stack, next.stack, next.stack_bytes);
  const transfer_t from = jump_fcontext(next.context, &self);
  auto& last = *static_cast<Fiber*>(from.data);
  finish_switch(self.fake_stack, &last.stack, &last.stack_bytes);
  last.context = from.fctx;
}

void Fibers::enter(transfer_t from) {
  auto& last = *static_cast<Fiber*>(from.data);
  finish_switch(nullptr, &last.stack, &last.stack_bytes);
  last.context = from.fctx;
  the->body_();
}

}  // namespace evenkeel::emulated
