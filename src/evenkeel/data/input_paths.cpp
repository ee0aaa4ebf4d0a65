// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/input_paths.h"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

/// Appends the entry to the files, or to the folders that are to be searched. Hidden entries, run
/// folders and links to folders are neither.
void sort_entry(const fs::directory_entry& entry, std::vector<fs::path>& folders,
                std::vector<fs::path>& files) {
  std::error_code ignored;  // a link to nothing is refused when it is opened
  const auto& path = entry.path();
  if (is_hidden(path)) return;
  if (!entry.is_directory(ignored)) {
    files.push_back(path);
  } else if (!entry.is_symlink(ignored) && !fs::exists(path / "run.toml", ignored)) {
    folders.push_back(path);
  }
}

/// Appends the files of a folder and of its folders, without hidden ones and run folders.
void add_folder(const fs::path& top, std::vector<fs::path>& files) {
  std::vector<fs::path> folders = {top};
  while (!folders.empty()) {
    const auto folder = folders.back();
    folders.pop_back();
    std::error_code error;
    auto at = fs::directory_iterator(folder, error);
    for (; !error && at != end(at); at.increment(error)) sort_entry(*at, folders, files);
    if (error) {
      throw Error(Exit::data, text(folder.string(), ": cannot read: ", error.message()));
    }
  }
}

/// What glob() finds. It waits for nothing: it opens no file.
std::vector<fs::path> matches(const std::string& pattern) {
  glob_t found = {};
  const int answer = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<fs::path> paths;
  if (answer == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (answer == GLOB_NOSPACE) throw std::bad_alloc();
  return paths;
}

/// The folder of a pattern that has no wildcard in its name.
fs::path pattern_root(const std::string& pattern) {
  const auto slash = pattern.find_last_of('/', pattern.find_first_of("*?["));
  return slash == std::string::npos ? fs::path() : fs::path(pattern.substr(0, slash));
}

InputPaths pattern_paths(const std::string& pattern) {
  if (pattern.find("**") != std::string::npos) {
    throw Error(Exit::data, text(pattern,
                                 ": ** is not known in a pattern; name the folder, which is "
                                 "read with its folders"));
  }
  InputPaths found = {.paths = {}, .root = pattern_root(pattern), .is_search = true};
  const auto paths = matches(pattern);
  for (const auto& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add_folder(path, found.paths);
    } else {
      found.paths.push_back(path);
    }
  }
  if (paths.empty()) {
    throw Error(Exit::data, text(pattern, ": the pattern must match a file, but matches none"));
  }
  return found;
}

}  // namespace

std::string with_home(const std::string& input) {
  const auto* const home = std::getenv("HOME");
  const bool is_home = input == "~" || input.starts_with("~/");
  return is_home && home != nullptr ? home + input.substr(1) : input;
}

bool is_pattern(const std::string& input) {
  return input.find_first_of("*?[") != std::string::npos;
}

std::string relative_paths_advice() {
  std::error_code error;
  const auto folder = fs::current_path(error);
  return text("; relative paths begin in the current folder",
              error ? std::string() : text(" (", folder.string(), ")"));
}

InputPaths input_paths(const std::string& input) {
  const auto path = with_home(input);
  std::error_code error;
  const auto status = fs::status(path, error);
  InputPaths found;
  if (fs::is_directory(status)) {
    found = {.paths = {}, .root = path, .is_search = true, .is_folder = true};
    add_folder(path, found.paths);
  } else if (fs::exists(status)) {
    found.paths = {path};
  } else if (is_pattern(path)) {
    found = pattern_paths(path);
  } else {
    throw Error(Exit::data, text(path, ": must be a file or a folder, but is missing",
                                 fs::path(path).is_relative() ? relative_paths_advice() : ""));
  }
  std::sort(found.paths.begin(), found.paths.end());
  return found;
}

}  // namespace evenkeel::data
