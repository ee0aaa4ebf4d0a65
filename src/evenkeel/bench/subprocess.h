// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::bench {

/// A subprocess that replies to lines of JSON on its standard input with lines of JSON on its
/// standard output, one for one. Ends with this object; one that does not within some seconds of
/// the end of its input is killed.
class Subprocess {
 public:
  /// \param command  the program, searched in PATH, and its arguments
  /// \param log    gets its standard error
  /// \throws Error (io) if no process can be started
  Subprocess(const std::vector<std::string>& command, const std::filesystem::path& log);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  /// Waits for its next line.
  /// \throws Error (io) if it ends instead, or says something else; the message has the end of its
  ///         standard error
  nlohmann::json read_reply();
  nlohmann::json request(const nlohmann::json& question);

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::filesystem::path log_;
  pid_t process_ = -1;
  std::FILE* socket_ = nullptr;  // one socket for both directions
};

}  // namespace evenkeel::bench
