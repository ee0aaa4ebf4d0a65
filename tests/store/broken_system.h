// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/store/system.h"

namespace evenkeel::store {

/// What a broken system does at which call; calls are counted from 1.
struct Plan {
  int at = 0;           // 0: never
  bool dies = false;    // the process ends instead of making the call
  bool sticky = false;  // all later calls fail too
  int error = 0;
  bool stutters = false;  // writes are short, every second one is interrupted
  int calls = 0;
  std::vector<std::string> trace = {};  // "fsync model.safetensors"
  std::map<int, std::string> open = {};
};

inline Plan plan;  // the table holds plain function pointers, so their state is here

inline bool breaks(const std::string& verb, const std::filesystem::path& path) {
  constexpr int kKilled = 9;
  plan.trace.push_back(verb + " " + path.filename().string());
  ++plan.calls;
  const bool due = plan.at > 0 && (plan.calls == plan.at || (plan.sticky && plan.calls > plan.at));
  if (due && plan.dies) ::_exit(kKilled);
  if (due) errno = plan.error;
  return due;
}

inline int open_broken(const char* path, int flags, mode_t mode) {
  if (breaks((flags & O_CREAT) != 0 ? "create" : "open", path)) return -1;
  const int file = ::open(path, flags, mode);
  plan.open[file] = path;
  return file;
}

inline ssize_t write_broken(int file, const void* data, std::size_t size) {
  if (breaks("write", plan.open[file])) return -1;
  if (!plan.stutters) return ::write(file, data, size);
  if (plan.calls % 2 == 0) {
    errno = EINTR;
    return -1;
  }
  return ::write(file, data, (size + 1) / 2);
}

inline int close_broken(int file) {
  const bool broken = breaks("close", plan.open[file]);
  const int error = errno;
  ::close(file);  // the descriptor is gone either way
  errno = error;
  return broken ? -1 : 0;
}

/// A system that follows `plan`. Its fsync does nothing: only its place in the order matters.
inline System broken_system() {
  System system;
  system.free_bytes = [](const char* path) -> std::int64_t {
    return breaks("free_bytes", path) ? -1 : free_bytes(path);
  };
  system.mkdir = [](const char* path, mode_t mode) {
    return breaks("mkdir", path) ? -1 : ::mkdir(path, mode);
  };
  system.open = open_broken;
  system.fallocate = [](int file, int mode, off_t offset, off_t size) {
    return breaks("fallocate", plan.open[file]) ? -1 : ::fallocate(file, mode, offset, size);
  };
  system.write = write_broken;
  system.fsync = [](int file) { return breaks("fsync", plan.open[file]) ? -1 : 0; };
  system.close = close_broken;
  system.rename = [](const char* from, const char* to) {
    return breaks("rename", to) ? -1 : ::rename(from, to);
  };
  system.exchange = [](const char* one, const char* other) {
    return breaks("exchange", other) ? -1 : exchange_paths(one, other);
  };
  system.unlink = [](const char* path) { return breaks("unlink", path) ? -1 : ::unlink(path); };
  system.rmdir = [](const char* path) { return breaks("rmdir", path) ? -1 : ::rmdir(path); };
  return system;
}

}  // namespace evenkeel::store
