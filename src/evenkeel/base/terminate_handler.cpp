// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/terminate_handler.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
#include <string_view>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

/// Ends the process without any allocation.
[[noreturn]] void end(std::string_view line, Exit exit) {
  const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(written);  // without standard error, the exit code remains
  ::_exit(static_cast<int>(exit));
}

std::atomic<bool> has_missed_memory = false;

/// Called by operator new if memory is short.
[[noreturn]] void on_missing_memory() {
  has_missed_memory = true;
  throw std::bad_alloc();
}

[[noreturn]] void on_terminate() {
  constexpr std::string_view kMissingMemory =
      "evenkeel: out of memory; `evenkeel plan` shows what a configuration needs\n";
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    end(kMissingMemory, Exit::busy);
  } catch (...) {
    end("evenkeel: an error that nobody handles: a bug of Evenkeel; please report it\n",
        Exit::internal);
  }
  // A function that may not throw calls std::terminate() without a current exception.
  if (has_missed_memory) end(kMissingMemory, Exit::busy);
  end("evenkeel: std::terminate() was called: a bug of Evenkeel; please report it\n",
      Exit::internal);
}

}  // namespace

void install_terminate_handler() {
  std::set_new_handler(on_missing_memory);
  std::set_terminate(on_terminate);
}

}  // namespace evenkeel
