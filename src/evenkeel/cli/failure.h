// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/base/error.h"

namespace evenkeel::cli {

/// How an exception ends the program.
struct Failure {
  Exit exit = Exit::internal;
  std::string message;  // one line
};

/// The line that follows the message of an internal error.
inline constexpr auto kBugLine = "this is a bug of Evenkeel; please report it with the line above";

/// The message of std::bad_alloc, and how that of LibTorch's error begins.
inline constexpr auto kOutOfMemory =
    "out of memory; `evenkeel plan` shows what a configuration needs";

/// The exit code and the message of the exception that is handled: Error has its own, a file system
/// error 74, missing memory or a thread that cannot be created 75, all others 70. Only called in a
/// handler.
Failure current_failure();

}  // namespace evenkeel::cli
