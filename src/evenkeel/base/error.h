// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace evenkeel {

/// The exit codes of the program, as documented in docs/exit_codes.md.
enum class Exit {
  done = 0,            // also "saved and stopped on a signal", "already finished"
  refuted = 1,         // a check said no
  usage = 64,          // command line or configuration
  data = 65,           // bad data
  internal = 70,       // our own fault
  io = 74,             // input/output, full disk
  busy = 75,           // locked by another process, or temporary
  diverged = 76,       // training diverged, or the budget of bad steps is spent
  no_checkpoint = 77,  // no usable checkpoint
  differs = 78,        // resume refused: something differs
  stopped = 130,       // stopped at once by a second signal
};

/// Something the user can mend: main() prints what() as one line and exits with exit().
/// `what()` reads "where: what is wanted, but what was found; what is known; what to do".
/// A bug of ours is not an Error but a failed EK_ASSERT.
class Error : public std::runtime_error {
 public:
  Error(Exit exit, const std::string& what) : std::runtime_error(what), exit_(exit) {}
  Exit exit() const { return exit_; }

 private:
  Exit exit_;
};

/// Joins its arguments into one message: `text("depth must be > 0, but is ", depth)`.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// \throws std::logic_error, which main() reports as our own fault (exit code 70)
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace evenkeel

/// An invariant of our own code; checked in every build.
#define EK_ASSERT(condition)          \
  ((condition) ? static_cast<void>(0) \
               : ::evenkeel::assertion_failed(#condition, __FILE__, __LINE__))
