// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

/// Which system call fails, and how; calls are counted from 1.
struct FaultPlan {
  int at = 0;               // 0: never
  bool exits = false;       // the process ends instead of making the call
  bool persistent = false;  // all later calls fail too
  int error = 0;
  bool short_writes = false;  // writes are short, every second one is interrupted
  int calls = 0;
  std::vector<std::string> trace = {};  // "fsync model.safetensors"
  std::map<int, std::string> open = {};
};

inline FaultPlan fault_plan;  // the table holds plain function pointers, so their state is here

inline bool inject_fault(const std::string& verb, const std::filesystem::path& path) {
  constexpr int kKilled = 9;
  fault_plan.trace.push_back(verb + " " + path.filename().string());
  ++fault_plan.calls;
  const bool due =
      fault_plan.at > 0 && (fault_plan.calls == fault_plan.at ||
                            (fault_plan.persistent && fault_plan.calls > fault_plan.at));
  if (due && fault_plan.exits) ::_exit(kKilled);
  if (due) errno = fault_plan.error;
  return due;
}

inline int faulty_open(const char* path, int flags, mode_t mode) {
  if (inject_fault((flags & O_CREAT) != 0 ? "create" : "open", path)) return -1;
  const int file = ::open(path, flags, mode);
  fault_plan.open[file] = path;
  return file;
}

inline ssize_t faulty_write(int file, const void* data, std::size_t size) {
  if (inject_fault("write", fault_plan.open[file])) return -1;
  if (!fault_plan.short_writes) return ::write(file, data, size);
  if (fault_plan.calls % 2 == 0) {
    errno = EINTR;
    return -1;
  }
  return ::write(file, data, (size + 1) / 2);
}

inline int faulty_close(int file) {
  const bool fails = inject_fault("close", fault_plan.open[file]);
  const int error = errno;
  ::close(file);  // the descriptor is gone either way
  errno = error;
  return fails ? -1 : 0;
}

/// System calls that fail as `fault_plan` says. Its fsync does nothing: only its place in the order
/// matters.
inline SystemCalls faulty_system() {
  SystemCalls system;
  system.free_bytes = [](const char* path) -> std::int64_t {
    return inject_fault("free_bytes", path) ? -1 : free_bytes(path);
  };
  system.mkdir = [](const char* path, mode_t mode) {
    return inject_fault("mkdir", path) ? -1 : ::mkdir(path, mode);
  };
  system.open = faulty_open;
  system.fallocate = [](int file, int mode, off_t offset, off_t size) {
    return inject_fault("fallocate", fault_plan.open[file]) ? -1
                                                            : ::fallocate(file, mode, offset, size);
  };
  system.write = faulty_write;
  system.fsync = [](int file) { return inject_fault("fsync", fault_plan.open[file]) ? -1 : 0; };
  system.close = faulty_close;
  system.rename = [](const char* from, const char* to) {
    return inject_fault("rename", to) ? -1 : ::rename(from, to);
  };
  system.exchange = [](const char* one, const char* other) {
    return inject_fault("exchange", other) ? -1 : exchange_paths(one, other);
  };
  system.unlink = [](const char* path) {
    return inject_fault("unlink", path) ? -1 : ::unlink(path);
  };
  system.rmdir = [](const char* path) { return inject_fault("rmdir", path) ? -1 : ::rmdir(path); };
  return system;
}

}  // namespace evenkeel::store
