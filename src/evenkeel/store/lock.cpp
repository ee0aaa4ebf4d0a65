// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

namespace {

constexpr const char* kLockName = "lock";

/// A lock on the whole file. F_OFD_* locks belong to the open file description, not to the process.
/// Closing another descriptor of the same file does not release them.
struct flock whole_file(int type) {
  struct flock lock{};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  return lock;
}

/// The owner of the lock: "process 1234"; "another process" if the file contains no process id.
std::string owner(int descriptor) {
  constexpr std::string_view kDigits = "0123456789";
  std::array<char, 20> digits{};
  const auto got = ::pread(descriptor, digits.data(), digits.size(), 0);
  const std::string_view all(digits.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto number = all.substr(0, all.find_first_not_of(kDigits));
  return number.empty() ? "another process" : text("process ", number);
}

/// fcntl() without interruptions. \return 0, or errno
int lock_call(int descriptor, int command, struct flock& lock) {
  while (::fcntl(descriptor, command, &lock) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Opens RUN/lock, a regular file, and creates it if needed.
/// \throws Error (io)
int open_lock_file(const Directory& run) {
  constexpr mode_t kModeBeforeUmask = 0666;
  const auto file = run.path() / kLockName;
  const int descriptor =
      run.system().openat(run.descriptor(), kLockName,
                          O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kModeBeforeUmask);
  if (descriptor < 0) throw_system_error(file, "open", errno);
  struct stat status{};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  throw Error(Exit::io, text(file.string(), ": must be a regular file, but is not; remove it"));
}

/// Locks an open file.
/// \throws Error (busy) if another process has the lock; Error (io)
void lock_file(int descriptor, const std::filesystem::path& run) {
  auto lock = whole_file(F_WRLCK);
  const int error = lock_call(descriptor, F_OFD_SETLK, lock);
  if (error == 0) return;
  if (error != EAGAIN && error != EACCES) throw_system_error(run / kLockName, "lock", error);
  throw Error(Exit::busy,
              text(run.string(), ": locked by ", owner(descriptor), "; wait for it, or stop it"));
}

/// Replaces the content of the lock file by the process id.
/// \throws Error (io)
void write_owner(int descriptor, const std::filesystem::path& run) {
  const auto number = text(::getpid(), "\n");
  const auto size = static_cast<ssize_t>(number.size());
  errno = ENOSPC;  // of a short write
  if (::ftruncate(descriptor, 0) == 0 &&
      ::pwrite(descriptor, number.data(), number.size(), 0) == size) {
    return;
  }
  throw_system_error(run / kLockName, "write", errno);
}

}  // namespace

Lock::Lock(const std::filesystem::path& run, const SystemCalls& system) : directory_(run, system) {
  try {
    do {  // until the locked file is the one that has the name: an owner may remove its file
      if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
      descriptor_ = open_lock_file(directory_);
      lock_file(descriptor_, run);
    } while (!is_held());
    write_owner(descriptor_, run);
  } catch (...) {  // no destructor runs after a constructor throws
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

Lock::~Lock() {
  ::close(descriptor_);
}

bool Lock::is_held() const {
  struct stat status{};
  const auto file = directory_.path() / kLockName;
  if (::fstatat(directory_.descriptor(), kLockName, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    throw_system_error(file, "examine", errno);
  }
  return FileIdentity{status.st_dev, status.st_ino} == identity_of(descriptor_, file);
}

void Lock::check_file() const {
  if (is_held()) return;
  throw Error(Exit::io,
              text((directory_.path() / kLockName).string(),
                   ": was removed or replaced while this process held it, so another process may "
                   "use the folder; nothing more is written; run again"));
}

void Lock::check_path() const {
  if (directory_.is_at_its_path()) return check_file();
  const auto path = directory_.path().string();
  const auto now = directory_.current_path();
  throw Error(Exit::io, now.empty()
                            ? text(path,
                                   ": the folder was removed while a process worked in it; "
                                   "start again")
                            : text(path,
                                   ": the folder was moved while a process worked in it and is "
                                   "now ",
                                   now, "; go on with --run ", shell_word(now)));
}

void Lock::remove_file() const {
  if (is_held()) directory_.remove(kLockName);
}

bool is_locked(const std::filesystem::path& run) {
  const auto file = run / kLockName;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    throw_system_error(file, "open", errno);
  }
  if (descriptor < 0) return false;
  auto lock = whole_file(F_RDLCK);  // F_OFD_GETLK then reports a conflicting write lock
  const int error = lock_call(descriptor, F_OFD_GETLK, lock);
  ::close(descriptor);
  return error == 0 && lock.l_type != F_UNLCK;
}

}  // namespace evenkeel::store
