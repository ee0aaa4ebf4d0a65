// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::study {

/// A program in a process and a process group of its own, so that Ctrl-C reaches it only through
/// us. It gets SIGTERM when this process dies, however it dies.
class ChildProcess {
 public:
  /// \param log  gets what the program prints; replaced
  /// \throws Error (io) if the log cannot be written or no process be made
  ChildProcess(const std::vector<std::string>& arguments, const std::filesystem::path& log);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  /// Stops it, and waits for its end.
  ~ChildProcess();

  /// The exit code once it has ended, 128 + the signal if one ended it; does not wait.
  std::optional<int> exit_code();
  /// Asks it to save and stop; only the first time.
  void terminate();

 private:
  pid_t pid_ = -1;  // -1: ended and asked about
  bool has_sent_sigterm_ = false;
};

/// The last line that is not empty, without the program's name; "" if there is none.
std::string last_log_line(const std::filesystem::path& log);

}  // namespace evenkeel::study
