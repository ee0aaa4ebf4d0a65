// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::store {

namespace {

constexpr std::size_t kMaxHeld = std::size_t{16} << 20;  // bytes

/// True if the file has a last line without a line feed: a crash cut it off.
bool has_torn_line(int file, off_t size) {
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

AppendFile::AppendFile(Directory folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)), path_(folder_->path() / name_) {}

AppendFile::AppendFile(std::filesystem::path file) : name_(file.string()), path_(std::move(file)) {}

const SystemCalls& AppendFile::system() const {
  return folder_ ? folder_->system() : kernel_calls();
}

int AppendFile::open() const {
  constexpr mode_t kModeBeforeUmask = 0666;
  constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC;
  const int folder = folder_ ? folder_->descriptor() : AT_FDCWD;
  const int only_here = folder_ ? O_NOFOLLOW | O_NONBLOCK : 0;
  const int file = system().openat(folder, name_.c_str(), kFlags | only_here, kModeBeforeUmask);
  if (file < 0) throw_system_error(path_, "open", errno);
  return file;
}

void AppendFile::append(std::string_view lines) {
  const bool fits = held_.size() + lines.size() <= kMaxHeld;
  if (fits) held_ += lines;
  if (!held_.empty()) write_held();
  if (fits) return;
  held_ = lines;
  write_held();
}

void AppendFile::write_held() {
  const int file = open();
  struct stat status{};
  int error = ::fstat(file, &status) == 0 ? 0 : errno;
  if (error == 0 && folder_ && !S_ISREG(status.st_mode)) {
    system().close(file);
    throw Error(Exit::io, text(path_.string(), ": must be a regular file, but is not"));
  }
  if (error == 0 && whole_to_ && *whole_to_ < status.st_size) {
    error = system().ftruncate(file, *whole_to_) == 0 ? 0 : errno;
    status.st_size = *whole_to_;
  }
  if (error == 0) {
    whole_to_ = status.st_size;
    error = write_to(file, status.st_size);
  }
  if (system().close(file) != 0 && error == 0) error = errno;
  if (error != 0) throw_system_error(path_, "append", error);
  held_.clear();
  whole_to_.reset();
  has_changed_ = true;
}

/// Appends the held text to a file of `size` bytes; after a failure the file has this size again,
/// if possible. \return 0, or errno
int AppendFile::write_to(int file, off_t size) {
  if (has_torn_line(file, size) && held_.front() != '\n') held_.insert(0, 1, '\n');
  std::string_view left = held_;
  int error = 0;
  while (!left.empty() && error == 0) {
    const auto put = system().write(file, left.data(), left.size());
    if (put > 0) {
      left.remove_prefix(static_cast<std::size_t>(put));
    } else if (put == 0 || errno != EINTR) {
      error = put == 0 ? ENOSPC : errno;
    }
  }
  if (error != 0 && left.size() < held_.size() && system().ftruncate(file, size) == 0) {
    whole_to_.reset();
  }
  if (left.size() == held_.size()) whole_to_.reset();
  return error;
}

void AppendFile::flush() {
  if (!held_.empty()) write_held();
  if (!has_changed_) return;
  if (flush_failed_) return replace();
  const int file = open();
  int error = system().fsync(file) == 0 ? 0 : errno;
  flush_failed_ = error != 0;
  if (system().close(file) != 0 && error == 0) error = errno;
  if (error != 0) throw_system_error(path_, "flush", error);
  has_changed_ = false;
}

/// Writes a copy of the file, durably, and gives it the file's name.
void AppendFile::replace() {
  if (folder_) folder_->write(name_, folder_->read(name_, kMaxRecordBytes));
  flush_failed_ = false;
  has_changed_ = false;
}

}  // namespace evenkeel::store
