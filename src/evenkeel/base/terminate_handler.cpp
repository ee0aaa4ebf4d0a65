// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/terminate_handler.h"

#include <unistd.h>

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

[[noreturn]] void on_terminate() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    end("evenkeel: out of memory; `evenkeel plan` shows what a configuration needs\n", Exit::busy);
  } catch (...) {
    end("evenkeel: an error that nobody handles: a bug of Evenkeel; please report it\n",
        Exit::internal);
  }
  end("evenkeel: std::terminate() was called: a bug of Evenkeel; please report it\n",
      Exit::internal);
}

}  // namespace

void install_terminate_handler() {
  std::set_terminate(on_terminate);
}

}  // namespace evenkeel
