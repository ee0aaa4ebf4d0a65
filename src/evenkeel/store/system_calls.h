// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "evenkeel/base/error.h"

/// The system calls that make files durable, as a table of function pointers: tests replace single
/// calls to simulate failures. Internal to store/.
namespace evenkeel::store {

/// Part of the message of a run that has ended its steps and cannot save them on a full disk.
inline constexpr const char* kWaitsForSpace = "the run waits for space";

/// A full disk, or a disk quota that is used up: the same call may succeed later.
class FullDisk : public Error {
 public:
  explicit FullDisk(const std::string& what) : Error(Exit::io, what) {}
};

/// Free bytes for unprivileged users on the file system of an open folder; -1 with errno on
/// failure.
std::int64_t free_bytes(int folder);

/// Renames an entry of a folder; -1 with errno on failure.
int rename_in(int folder, const char* from, const char* to);

/// Exchanges two entries of a folder atomically (renameat2, RENAME_EXCHANGE); -1 with errno on
/// failure.
int exchange_in(int folder, const char* one, const char* other);

/// The system calls, as in their manual pages: -1 with errno on failure. `folder` is the descriptor
/// of a folder; with AT_FDCWD, `name` is a path.
struct SystemCalls {
  std::int64_t (*free_bytes)(int folder) = store::free_bytes;
  int (*mkdirat)(int folder, const char* name, mode_t mode) = ::mkdirat;
  int (*openat)(int folder, const char* name, int flags,
                mode_t mode) = [](int folder, const char* name, int flags, mode_t mode) {
    return ::openat(folder, name, flags, mode);
  };
  int (*fallocate)(int file, int mode, off_t offset, off_t size) = ::fallocate;
  ssize_t (*write)(int file, const void* data, std::size_t size) = ::write;
  int (*ftruncate)(int file, off_t size) = ::ftruncate;
  int (*fsync)(int file) = ::fsync;
  int (*close)(int file) = ::close;
  int (*rename)(int folder, const char* from, const char* to) = rename_in;
  int (*exchange)(int folder, const char* one, const char* other) = exchange_in;
  int (*unlinkat)(int folder, const char* name, int flags) = ::unlinkat;
};

/// The calls of the kernel.
const SystemCalls& kernel_calls();

/// Throws "PATH: cannot WHAT: No space left on device".
/// \param error  errno of the failed call
/// \throws FullDisk (io, exit code 74) on a full disk; Error (busy, 75) if the process or the
///         machine has no free file descriptor or memory; Error (io), with the reason, for a
///         symbolic link that is not followed; else Error (io)
[[noreturn]] void throw_system_error(const std::filesystem::path& path, const char* what,
                                     int error);

/// Makes the entries of a folder durable, so that new names survive power loss.
/// \throws Error (io, exit code 74)
void fsync_folder(const SystemCalls& system, const std::filesystem::path& folder);

/// Creates a folder and its missing parents, durably. Does nothing if the folder exists.
/// \throws Error (io)
void create_folders(const SystemCalls& system, const std::filesystem::path& folder);

/// The entries of a folder, sorted by name; empty if the folder does not exist.
/// \throws Error (io, exit code 74) if the folder cannot be read
std::vector<std::filesystem::path> directory_entries(const std::filesystem::path& folder);

}  // namespace evenkeel::store
