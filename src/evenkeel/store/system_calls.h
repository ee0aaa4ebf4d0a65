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

/// The system calls that make files durable, in one table, so that a test can make each of them
/// fail. For this floor only.
namespace evenkeel::store {

/// Bytes that an ordinary user may still write to the file system of `path`; -1 with errno.
std::int64_t free_bytes(const char* path);

/// Exchanges the files of two paths atomically; -1 with errno.
int exchange_paths(const char* one, const char* other);

/// The calls, with the contracts of their manual pages: -1 and errno on failure.
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

/// Throws the error "PATH: cannot WHAT: No space left on device".
/// \param error  errno of the call
/// \throws Error (io)
[[noreturn]] void throw_system_error(const std::filesystem::path& path, const char* what,
                                     int error);

/// Makes the entries of a folder durable: new names survive a power cut.
/// \throws Error (io)
void fsync_folder(const SystemCalls& system, const std::filesystem::path& folder);

/// Creates a folder and its missing parents, durably; does nothing if the folder exists.
/// \throws Error (io)
void create_folders(const SystemCalls& system, const std::filesystem::path& folder);

/// The entries of a folder, in the order of their names; nothing if the folder is missing.
/// \throws Error (io) if it cannot be read
std::vector<std::filesystem::path> directory_entries(const std::filesystem::path& folder);

/// Removes a file, a link, or a folder with all in it, and goes on after a failure.
/// \return 0, or the first error number
int remove_all(const SystemCalls& system, const std::filesystem::path& path);

}  // namespace evenkeel::store
