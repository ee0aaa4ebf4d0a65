// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::study {

/// A program in a process and a process group of its own, so that Ctrl-C reaches it only through
/// us. It is told to stop (SIGTERM) when this process dies, however it dies.
class Worker {
 public:
  /// \param log  gets what the program prints; replaced
  /// \throws Error (io) if the log cannot be written or no process be made
  Worker(const std::vector<std::string>& words, const std::filesystem::path& log);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;
  /// Stops it, and waits for its end.
  ~Worker();

  /// The exit code once it has ended, 128 + the signal if one ended it; does not wait.
  std::optional<int> ended();
  /// Asks it to save and stop; only the first time.
  void stop();

 private:
  pid_t process_ = -1;  // -1: ended and asked about
  bool stopped_ = false;
};

/// The last line that is not empty, without the program's name; "" if there is none.
std::string last_line_of(const std::filesystem::path& log);

}  // namespace evenkeel::study
