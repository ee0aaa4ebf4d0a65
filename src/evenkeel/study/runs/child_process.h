// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::study {

/// A child process in its own process group, so that Ctrl-C in the terminal does not signal it
/// directly. The kernel sends it SIGTERM if this process dies. It inherits the environment without
/// the variables of a launcher (base/launcher_variables.h), so that it takes itself for no rank.
class ChildProcess {
 public:
  /// \param log  file for standard output and standard error; overwritten
  /// \throws Error (io) if the log cannot be written or the process cannot be created
  ChildProcess(const std::vector<std::string>& arguments, const std::filesystem::path& log);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  /// Stops the process and waits for its end.
  ~ChildProcess();

  /// The exit code, or 128 + signal; nullopt while the process runs. Does not block.
  std::optional<int> exit_code();
  /// Sends SIGTERM, so that the run saves and stops. No effect after the first call.
  void terminate();

 private:
  pid_t pid_ = -1;  // -1: ended and reaped
  bool has_sent_sigterm_ = false;
};

/// How a process ended, for messages: "exit code 75: out of memory"; "exit code 137: killed by
/// signal 9 (SIGKILL), often for lack of memory". The last line of the log, if there is one, ends
/// it.
/// \param code  ChildProcess::exit_code()
/// \param line  last_log_line()
std::string exit_text(int code, const std::string& line);

/// The last non-empty line of a log, without the prefix "evenkeel: "; "" if there is none.
std::string last_log_line(const std::filesystem::path& log);

}  // namespace evenkeel::study
