// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

constexpr std::size_t kWriteBuffer = std::size_t{1} << 20;

/// Makes the entries of a folder durable. \return 0, or errno
int flush_folder(const std::filesystem::path& folder) {
  const auto* const name = folder.empty() ? "." : folder.c_str();
  const int descriptor = ::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return error;
}

}  // namespace

NewFile::NewFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_ += ".part";
  ::unlink(temporary_.c_str());  // of a process that was killed; or a planted link
  descriptor_ =
      ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("write", errno);
  buffer_.reserve(kWriteBuffer);
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void NewFile::append(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  if (buffer_.size() + size > kWriteBuffer) flush_buffer();
  if (size >= kWriteBuffer) {
    write_all(bytes, size, size_);
  } else {
    buffer_.append(bytes, size);
  }
  size_ += static_cast<std::int64_t>(size);
}

void NewFile::flush_buffer() {
  write_all(buffer_.data(), buffer_.size(), size_ - static_cast<std::int64_t>(buffer_.size()));
  buffer_.clear();
}

void NewFile::overwrite_start(const void* data, std::size_t size) {
  flush_buffer();
  EK_ASSERT(static_cast<std::int64_t>(size) <= size_);
  write_all(static_cast<const char*>(data), size, 0);
}

void NewFile::read_all(char* data, std::size_t size, std::int64_t offset) {
  while (size > 0) {
    const auto some = ::pread(descriptor_, data, size, offset);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) fail("read", some < 0 ? errno : EIO);
    data += some;
    size -= static_cast<std::size_t>(some);
    offset += some;
  }
}

void NewFile::truncate(std::int64_t size) {
  EK_ASSERT(buffer_.empty() && size <= size_);
  if (::ftruncate(descriptor_, size) != 0) fail("truncate", errno);
  size_ = size;
}

void NewFile::write_all(const char* data, std::size_t size, std::int64_t offset) {
  while (size > 0) {
    const auto written = ::pwrite(descriptor_, data, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", errno);
    data += written;
    size -= static_cast<std::size_t>(written);
    offset += written;
  }
}

void NewFile::finish() {
  flush_buffer();
  if (::fsync(descriptor_) != 0) fail("flush", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("close", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write", errno);
  if (const int error = flush_folder(path_.parent_path()); error != 0) fail("flush", error);
}

void NewFile::fail(const char* what, int error) const {
  const bool is_temporary = error == EMFILE || error == ENFILE || error == ENOMEM;
  throw Error(is_temporary ? Exit::busy : Exit::io,
              text(path_.string(), ": cannot ", what, ": ", std::strerror(error)));
}

}  // namespace evenkeel::data
