// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

/// The system calls that make files durable, as a table of function pointers: tests replace single
/// calls to simulate failures. Internal to store/.
namespace evenkeel::store {

/// Free bytes for unprivileged users on the file system of `path`; -1 with errno on failure.
std::int64_t free_bytes(const char* path);

/// Exchanges two paths atomically (renameat2, RENAME_EXCHANGE); -1 with errno on failure.
int exchange_paths(const char* one, const char* other);

/// The system calls, as in their manual pages: -1 with errno on failure.
struct SystemCalls {
  std::int64_t (*free_bytes)(const char* path) = store::free_bytes;
  int (*mkdir)(const char* path, mode_t mode) = ::mkdir;
  int (*open)(const char* path, int flags, mode_t mode) =
      [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); };
  int (*fallocate)(int file, int mode, off_t offset, off_t size) = ::fallocate;
  ssize_t (*write)(int file, const void* data, std::size_t size) = ::write;
  int (*fsync)(int file) = ::fsync;
  int (*close)(int file) = ::close;
  int (*rename)(const char* from, const char* to) = ::rename;
  int (*exchange)(const char* one, const char* other) = exchange_paths;
  int (*unlink)(const char* path) = ::unlink;
  int (*rmdir)(const char* path) = ::rmdir;
};

/// Throws "PATH: cannot WHAT: No space left on device".
/// \param error  errno of the failed call
/// \throws Error (io, exit code 74)
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

/// Removes a file, a link, or a folder with its content. Continues after a failure.
/// \return 0, or the first errno
int remove_all(const SystemCalls& system, const std::filesystem::path& path);

}  // namespace evenkeel::store
