// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

namespace evenkeel::emulated {

/// Fibers of one operating system thread, each on a stack of its own, which a loop resumes in turn.
class Fibers {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kStackBytes = std::size_t{1} << 17;

  Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  /// Fiber `index` will call body(argument) when it is resumed for the first time. What it ran
  /// before is abandoned, without calls of destructors.
  void start(unsigned index, void (*body)(void*), void* argument);

  /// Runs a fiber until it suspends or ends.
  void resume(unsigned index);

  /// Called by a fiber: back to the caller of resume().
  void suspend();

  /// The memory of a stack.
  const char* stack(unsigned index) const { return stacks_ + index * kStackBytes; }

 private:
  struct Fiber {
    boost::context::detail::fcontext_t context = nullptr;
    void (*body)(void*) = nullptr;
    void* argument = nullptr;
    void* fake_stack = nullptr;  // of the address sanitizer
  };
  static void enter(boost::context::detail::transfer_t from);
  void leave(bool ends);

  Fiber fibers_[kMost];
  char* stacks_;
  unsigned current_ = 0;
  boost::context::detail::fcontext_t loop_ = nullptr;
  const void* loop_stack_ = nullptr;
  std::size_t loop_stack_bytes_ = 0;
};

}  // namespace evenkeel::emulated
