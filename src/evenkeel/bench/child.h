// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::bench {

/// Another program that answers lines of JSON on its standard input with lines of JSON on its
/// standard output, one for one. Ends with this object; one that does not within some seconds of
/// the end of its input is killed.
class Child {
 public:
  /// \param words  the program, looked for in PATH, and its arguments
  /// \param log    gets its standard error
  /// \throws Error (io) if no process can be started
  Child(const std::vector<std::string>& words, const std::filesystem::path& log);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits for its next line.
  /// \throws Error (io) if it ends instead, or says something else; the message has the end of its
  ///         standard error
  nlohmann::json answer();
  nlohmann::json ask(const nlohmann::json& question);

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::filesystem::path log_;
  pid_t process_ = -1;
  std::FILE* line_ = nullptr;  // one socket for both directions
};

}  // namespace evenkeel::bench
