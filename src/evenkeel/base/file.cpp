// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
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
  auto beside = path;
  beside += text(".new-", ::getpid());
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) fail(path, "write", errno);
  const auto give_up = [&](int error) {
    ::unlink(beside.c_str());
    fail(path, "write", error);
  };
  while (!content.empty()) {
    const auto put = ::write(file.get(), content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) give_up(errno);
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::fsync(file.get()) != 0) give_up(errno);
  if (::close(file.release()) != 0) give_up(errno);
  if (::rename(beside.c_str(), path.c_str()) != 0) give_up(errno);
}

}  // namespace evenkeel
