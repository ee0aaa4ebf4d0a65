// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
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

/// The path of an open file or folder.
inline std::filesystem::path path_of(int descriptor) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), none);
}

inline int faulty_openat(int folder, const char* name, int flags, mode_t mode) {
  if (inject_fault((flags & O_CREAT) != 0 ? "create" : "open", name)) return -1;
  return ::openat(folder, name, flags, mode);
}

inline ssize_t faulty_write(int file, const void* data, std::size_t size) {
  if (inject_fault("write", path_of(file))) return -1;
  if (!fault_plan.short_writes) return ::write(file, data, size);
  if (fault_plan.calls % 2 == 0) {
    errno = EINTR;
    return -1;
  }
  return ::write(file, data, (size + 1) / 2);
}

inline int faulty_close(int file) {
  const bool fails = inject_fault("close", path_of(file));
  const int error = errno;
  ::close(file);  // the descriptor is gone either way
  errno = error;
  return fails ? -1 : 0;
}

inline int faulty_unlinkat(int folder, const char* name, int flags) {
  const bool fails = inject_fault((flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", name);
  return fails ? -1 : ::unlinkat(folder, name, flags);
}

/// System calls that fail as `fault_plan` says. Its fsync does nothing: only its place in the order
/// matters.
inline const SystemCalls& faulty_system() {
  static const SystemCalls system = {
      .free_bytes = [](int folder) -> std::int64_t {
        return inject_fault("free_bytes", path_of(folder)) ? -1 : free_bytes(folder);
      },
      .mkdirat =
          [](int folder, const char* name, mode_t mode) {
            return inject_fault("mkdir", name) ? -1 : ::mkdirat(folder, name, mode);
          },
      .openat = faulty_openat,
      .fallocate =
          [](int file, int mode, off_t offset, off_t size) {
            return inject_fault("fallocate", path_of(file)) ? -1
                                                            : ::fallocate(file, mode, offset, size);
          },
      .write = faulty_write,
      .ftruncate =
          [](int file, off_t size) {
            return inject_fault("ftruncate", path_of(file)) ? -1 : ::ftruncate(file, size);
          },
      .fsync = [](int file) { return inject_fault("fsync", path_of(file)) ? -1 : 0; },
      .close = faulty_close,
      .rename =
          [](int folder, const char* from, const char* to) {
            return inject_fault("rename", to) ? -1 : rename_in(folder, from, to);
          },
      .exchange =
          [](int folder, const char* one, const char* other) {
            return inject_fault("exchange", other) ? -1 : exchange_in(folder, one, other);
          },
      .unlinkat = faulty_unlinkat};
  return system;
}

}  // namespace evenkeel::store
