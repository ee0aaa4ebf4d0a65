// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/system_calls.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "evenkeel/base/error.h"

namespace evenkeel::store {

namespace {

/// True if this process may write files of a limited size only.
bool has_file_size_limit() {
  struct rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// The limit that a call exceeded, for its message; "" for another error.
const char* limit_hint(int error) {
  if (error == EFBIG && has_file_size_limit()) return "; `ulimit -f` shows the limit";
  if (error == EFBIG) return "; the file system takes no larger file";
  if (error == ENAMETOOLONG) return "; a name has at most 255 bytes, a path 4,095";
  return "";
}

}  // namespace

std::int64_t free_bytes(int folder) {
  struct statvfs status{};
  if (::fstatvfs(folder, &status) != 0) return -1;
  return static_cast<std::int64_t>(status.f_bavail * status.f_frsize);
}

int rename_in(int folder, const char* from, const char* to) {
  return ::renameat(folder, from, folder, to);
}

int exchange_in(int folder, const char* one, const char* other) {
  return ::renameat2(folder, one, folder, other, RENAME_EXCHANGE);
}

const SystemCalls& kernel_calls() {
  static const SystemCalls calls;
  return calls;
}

void throw_system_error(const std::filesystem::path& path, const char* what, int error) {
  const auto message =
      text(path.string(), ": cannot ", what, ": ", std::strerror(error), limit_hint(error));
  if (error == ENOSPC || error == EDQUOT) throw FullDisk(message);
  if (error == EMFILE || error == ENFILE || error == ENOMEM) throw Error(Exit::busy, message);
  if (error != ELOOP) throw Error(Exit::io, message);
  throw Error(Exit::io, text(path.string(),
                             ": is a symbolic link, which is not followed inside a run folder; "
                             "replace it by what it points to"));
}

void fsync_folder(const SystemCalls& system, const std::filesystem::path& folder) {
  const int descriptor =
      system.openat(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (descriptor < 0) throw_system_error(folder, "open", errno);
  if (system.fsync(descriptor) != 0) {
    const int error = errno;
    system.close(descriptor);
    throw_system_error(folder, "flush", error);
  }
  if (system.close(descriptor) != 0) throw_system_error(folder, "close", errno);
}

void create_folders(const SystemCalls& system, const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  const auto parent = std::filesystem::absolute(folder).lexically_normal().parent_path();
  create_folders(system, parent);
  constexpr mode_t kModeBeforeUmask = 0777;
  if (system.mkdirat(AT_FDCWD, folder.c_str(), kModeBeforeUmask) != 0 && errno != EEXIST) {
    throw_system_error(folder, "make the folder", errno);
  }
  fsync_folder(system, parent);
}

std::vector<std::filesystem::path> directory_entries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  auto at = std::filesystem::directory_iterator(folder, error);
  for (; !error && at != end(at); at.increment(error)) entries.push_back(at->path());
  if (error && error != std::errc::no_such_file_or_directory) {
    throw_system_error(folder, "list", error.value());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace evenkeel::store
