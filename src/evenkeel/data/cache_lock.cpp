// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/cache_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/print.h"

namespace evenkeel::data {

namespace {

/// Locks an open file if no other process has it locked. The lock is that of the open file, as in
/// store/lock.cpp. \return 0, or errno
int try_to_lock(int descriptor) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0 ? 0 : errno;
}

bool is_held_by_another(int error) {
  return error == EAGAIN || error == EACCES || error == EINTR;
}

}  // namespace

CacheLock::CacheLock(const std::filesystem::path& target, const StopWanted& stop) : path_(target) {
  path_ += ".lock";
  try {
    // Again, until the locked file is the one that has the name: its owner removes it.
    while (open_file() && lock_file(stop) && !has_name()) close_file();
  } catch (...) {  // no destructor runs after a constructor throws
    close_file();
    throw;
  }
}

CacheLock::~CacheLock() {
  if (descriptor_ >= 0 && has_name()) ::unlink(path_.c_str());
  close_file();
}

bool CacheLock::open_file() {
  constexpr mode_t kModeBeforeUmask = 0666;
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                       kModeBeforeUmask);
  return descriptor_ >= 0;
}

/// \return false, with the file closed, where files cannot be locked
bool CacheLock::lock_file(const StopWanted& stop) {
  constexpr std::chrono::milliseconds kPause{100};
  bool was_said = false;
  int error = 0;
  while (is_held_by_another(error = try_to_lock(descriptor_))) {
    if (!std::exchange(was_said, true)) {
      print_note(text("text   waiting for another process that encodes the same text (it has ",
                      path_.string(), " locked)"));
    }
    if (stop && stop()) {
      throw Error(Exit::stopped,
                  "stopped by a signal while another process encoded the text; run again");
    }
    std::this_thread::sleep_for(kPause);
  }
  if (error != 0) close_file();
  return error == 0;
}

bool CacheLock::has_name() const {
  struct stat named{}, held{};
  return ::lstat(path_.c_str(), &named) == 0 && ::fstat(descriptor_, &held) == 0 &&
         named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

void CacheLock::close_file() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace evenkeel::data
