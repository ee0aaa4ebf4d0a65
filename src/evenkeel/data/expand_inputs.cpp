// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/expand_inputs.h"

#include <glob.h>

#include <filesystem>
#include <new>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

/// The result of glob(3), which frees it.
class PathGlob {
 public:
  explicit PathGlob(const std::string& pattern) {
    if (glob(pattern.c_str(), GLOB_TILDE, nullptr, &found_) == GLOB_NOSPACE) throw std::bad_alloc();
  }
  PathGlob(const PathGlob&) = delete;
  PathGlob& operator=(const PathGlob&) = delete;
  PathGlob(PathGlob&&) = delete;
  PathGlob& operator=(PathGlob&&) = delete;
  ~PathGlob() { globfree(&found_); }

  std::vector<std::string> paths() const {
    return {found_.gl_pathv, found_.gl_pathv + found_.gl_pathc};
  }

 private:
  glob_t found_{};
};

}  // namespace

std::vector<std::string> expand_inputs(const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  for (const auto& input : inputs) {
    std::error_code none;
    const bool is_pattern = input.find_first_of("*?[") != std::string::npos;
    if ((!is_pattern && !input.starts_with("~")) || std::filesystem::exists(input, none)) {
      paths.push_back(input);
      continue;
    }
    const auto found = PathGlob(input).paths();
    if (found.empty()) {
      throw Error(Exit::data, text(input, is_pattern ? ": must match files, but nothing matches"
                                                     : ": must be a file or a folder, but is missing"));
    }
    paths.insert(paths.end(), found.begin(), found.end());
  }
  return paths;
}

}  // namespace evenkeel::data
