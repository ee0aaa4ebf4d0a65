// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::bench {

/// A subprocess that reads one JSON request per line and writes one JSON reply per line. The
/// destructor closes its input, and kills it if it does not exit within some seconds.
class Subprocess {
 public:
  /// \param command  the program, searched in PATH, and its arguments
  /// \param log      file for its standard error
  /// \throws Error (io, exit code 74) if the process cannot be started
  Subprocess(const std::vector<std::string>& command, const std::filesystem::path& log);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  /// Waits for the next reply.
  /// \throws Error (io, exit code 74), with the end of standard error, if the process exits or the
  ///         reply is not JSON
  nlohmann::json read_reply();
  nlohmann::json request(const nlohmann::json& question);

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::filesystem::path log_;
  pid_t process_ = -1;
  std::FILE* socket_ = nullptr;  // a socket for both directions
};

}  // namespace evenkeel::bench
