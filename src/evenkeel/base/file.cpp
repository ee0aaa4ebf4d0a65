// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int error) {
  throw Error(Exit::io, text(path.string(), ": cannot ", what, ": ", std::strerror(error)));
}

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// The errno of what went wrong, or 0.
int write_all(const Descriptor& file, std::string_view content) {
  while (!content.empty()) {
    const auto put = ::write(file.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

/// For what is no regular file: it stays what it is.
void write_into(const std::filesystem::path& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "write", errno);
  if (const int error = write_all(file, content); error != 0) fail(path, "write", error);
}

/// The path at the end of symbolic links; nothing needs to be there yet.
std::filesystem::path end_of_links(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  auto end = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code error;
    if (!std::filesystem::is_symlink(end, error)) return end;
    end = end.parent_path() / std::filesystem::read_symlink(end, error);
    if (error) fail(path, "write", error.value());
  }
  fail(path, "write", ELOOP);
}

void replace(const std::filesystem::path& path, std::string_view content) {
  const auto target = end_of_links(path);
  auto beside = target;
  beside += text(".new-", ::getpid());
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) fail(path, "write", errno);
  int error = write_all(file, content);
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (::close(file.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(beside.c_str());
  fail(path, "write", error);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "open", errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail(path, "read", errno);
  if (S_ISDIR(status.st_mode)) fail(path, "read", EISDIR);
  std::string content;
  content.reserve(static_cast<std::size_t>(status.st_size));
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const auto got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "read", errno);
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(path, "write", EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    write_into(path, content);
  } else {
    replace(path, content);
  }
}

}  // namespace evenkeel
