// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/output_file.h"

#include <cerrno>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::store {

namespace {

/// Reserves disk space. A file system without fallocate is no failure: a full disk then makes
/// write() fail.
/// \return 0, or errno
int reserve(const SystemCalls& system, int descriptor, std::uint64_t size) {
  if (size == 0) return 0;
  while (system.fallocate(descriptor, 0, 0, static_cast<off_t>(size)) != 0) {
    if (errno == EINTR) continue;
    return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
  }
  return 0;
}

}  // namespace

OutputFile::OutputFile(const SystemCalls& system, int folder, const std::string& name,
                       std::filesystem::path path, std::uint64_t size)
    : system_(system), path_(std::move(path)), size_(size) {
  constexpr mode_t kModeBeforeUmask = 0666;
  descriptor_ = system_.openat(
      folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kModeBeforeUmask);
  if (descriptor_ < 0) throw_system_error(path_, "create", errno);
  if (const int error = reserve(system_, descriptor_, size_); error != 0) {
    system_.close(std::exchange(descriptor_, -1));  // no destructor runs after a constructor throws
    throw_system_error(path_, "reserve space", error);
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) system_.close(descriptor_);
}

void OutputFile::write(const void* data, std::size_t size) {
  digest_.update(data, size);
  written_ += size;
  const auto* next = static_cast<const char*>(data);
  while (size > 0) {
    const auto put = system_.write(descriptor_, next, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_system_error(path_, "write", errno);
    next += put;
    size -= static_cast<std::size_t>(put);
  }
}

WrittenFile OutputFile::finish() {
  EK_ASSERT(written_ == size_);
  if (system_.fsync(descriptor_) != 0) throw_system_error(path_, "flush", errno);
  if (system_.close(std::exchange(descriptor_, -1)) != 0) throw_system_error(path_, "close", errno);
  return {.size = size_, .digest = digest_.hex()};
}

WrittenFile write_new_file(const Directory& folder, const std::string& name,
                           std::string_view content, const std::filesystem::path& shown) {
  OutputFile file(folder.system(), folder.descriptor(), name, shown, content.size());
  file.write(content.data(), content.size());
  return file.finish();
}

}  // namespace evenkeel::store
