// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

namespace {

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

}  // namespace

Lock::Lock(const std::filesystem::path& run) {
  const auto file = run / "lock";
  constexpr mode_t kModeBeforeUmask = 0666;
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kModeBeforeUmask);
  if (descriptor_ < 0) throw_system_error(file, "open", errno);
  auto lock = whole_file(F_WRLCK);
  if (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
    const int error = errno;
    const auto by = owner(descriptor_);
    ::close(descriptor_);
    if (error != EAGAIN && error != EACCES) throw_system_error(file, "lock", error);
    throw Error(Exit::busy, text(run.string(), ": locked by ", by, "; wait for it, or stop it"));
  }
  const auto number = text(::getpid(), "\n");
  const auto size = static_cast<ssize_t>(number.size());
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, number.data(), number.size(), 0) != size) {
    const int error = errno;
    ::close(descriptor_);
    throw_system_error(file, "write", error);
  }
}

Lock::~Lock() {
  ::close(descriptor_);
}

bool is_locked(const std::filesystem::path& run) {
  const auto file = run / "lock";
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  auto lock = whole_file(F_RDLCK);  // F_OFD_GETLK then reports a conflicting write lock
  const bool asked = ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0;
  ::close(descriptor);
  return asked && lock.l_type != F_UNLCK;
}

}  // namespace evenkeel::store
