// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>

namespace evenkeel::emulated {

/// Fibers of one operating system thread, each on a stack of its own, and the loop that starts
/// them: each of these switches to another one.
class Fibers {
 public:
  static constexpr unsigned kMost = 1024;
  static constexpr unsigned kLoop = kMost;  // what is no fiber
  static constexpr std::size_t kStackBytes = std::size_t{1} << 17;

  /// \param body  of each fiber; must not return, but switch away for the last time
  explicit Fibers(void (*body)());
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  /// The body begins when something switches to the fiber. What the fiber ran before is abandoned,
  /// without calls of destructors.
  void start(unsigned index);

  /// \param ends  nothing will switch back before the next start()
  void switch_to(unsigned index, bool ends = false);

  /// The fiber that runs now, or kLoop.
  unsigned current() const { return current_; }

  /// The memory of a stack.
  const char* stack(unsigned index) const { return stacks_ + index * kStackBytes; }

 private:
  struct Fiber {
    boost::context::detail::fcontext_t context = nullptr;
    const void* stack = nullptr;
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;  // of the address sanitizer
  };
  static void enter(boost::context::detail::transfer_t from);

  void (*body_)();
  std::array<Fiber, kMost + 1> fibers_;
  char* stacks_;
  unsigned current_ = kLoop;
};

}  // namespace evenkeel::emulated
