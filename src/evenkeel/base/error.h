// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace evenkeel {

/// The exit codes of the program (docs/exit_codes.md).
enum class Exit {
  success = 0,         // also: saved and stopped on a signal; already finished
  check_failed = 1,    // a check failed
  usage = 64,          // invalid command line or configuration
  data = 65,           // invalid data
  internal = 70,       // a bug in Evenkeel
  io = 74,             // I/O error, full disk
  busy = 75,           // locked by another process, or another temporary condition
  diverged = 76,       // training diverged, or the budget of skipped steps is used up
  no_checkpoint = 77,  // no valid checkpoint
  differs = 78,        // resume refused: configuration, data or arithmetic differ
  stopped = 130,       // terminated by a second signal, or by one before training
};

/// The exit code of a process that a signal ended, as a shell reports it: 143 for SIGTERM.
constexpr int signal_exit(int signal) {
  constexpr int kShellBase = 128;
  return kShellBase + signal;
}

/// An error that the user can correct. main() prints what() as one line and exits with exit().
/// what() is "where: what is wanted, but what was found; what is known; what to do". A bug in
/// Evenkeel is a failed EK_ASSERT, not an Error.
class Error : public std::runtime_error {
 public:
  Error(Exit exit, const std::string& what) : std::runtime_error(what), exit_(exit) {}
  Exit exit() const { return exit_; }

 private:
  Exit exit_;
};

/// Concatenates its arguments to one message: `text("depth must be > 0, but is ", depth)`.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// \throws std::logic_error, which main() reports as an internal error (exit code 70)
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace evenkeel

/// An invariant of our own code; checked in every build.
#define EK_ASSERT(condition)          \
  ((condition) ? static_cast<void>(0) \
               : ::evenkeel::assertion_failed(#condition, __FILE__, __LINE__))
