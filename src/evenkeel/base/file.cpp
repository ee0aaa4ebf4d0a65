// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int error) {
  const bool is_temporary = error == EMFILE || error == ENFILE || error == ENOMEM;
  throw Error(is_temporary ? Exit::busy : Exit::io,
              text(path.string(), ": cannot ", what, ": ", std::strerror(error)));
}

/// A file descriptor that its destructor closes.
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

/// Writes all of `content`. \return 0, or errno
int write_all(const Descriptor& file, std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Writes to a device or a pipe, without replacing it by a regular file.
void write_in_place(const std::filesystem::path& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "write", errno);
  if (const int error = write_all(file, content); error != 0) fail(path, "write", error);
}

/// The end of a chain of symbolic links; it need not exist.
std::filesystem::path symlink_target(const std::filesystem::path& path) {
  constexpr int kMaxLinks = 40;  // the limit of the kernel
  auto end = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    std::error_code error;
    if (!std::filesystem::is_symlink(end, error)) return end;
    end = end.parent_path() / std::filesystem::read_symlink(end, error);
    if (error) fail(path, "write", error.value());
  }
  fail(path, "write", ELOOP);
}

/// The kind of a file that is neither regular nor a folder.
const char* other_kind(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse_link(const std::filesystem::path& path) {
  throw Error(Exit::io, text(path.string(),
                             ": is a symbolic link, which is not followed inside a run folder; "
                             "replace it by what it points to"));
}

[[noreturn]] void refuse_kind(const std::filesystem::path& path, const char* found) {
  throw Error(Exit::io, text(path.string(), ": must be a regular file, but is ", found));
}

int open_regular(int folder, const char* name, int flags, const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
  Descriptor file(::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
  if (file.get() < 0) {
    if (errno == ENXIO) refuse_kind(path, "a socket");
    if (errno == ELOOP && (flags & O_NOFOLLOW) != 0) refuse_link(path);
    fail(path, "open", errno);
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail(path, "read", errno);
  if (S_ISDIR(status.st_mode)) fail(path, "read", EISDIR);
  if (!S_ISREG(status.st_mode)) refuse_kind(path, other_kind(status.st_mode));
  return file.release();
}

/// The number of an open file in a path as "/dev/fd/63"; -1 for any other path.
int descriptor_in(const std::string& path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto [stop, error] = std::from_chars(path.data() + folder.size(), end, number);
    return error == std::errc() && stop == end ? number : -1;
  }
  return -1;
}

/// What arrives in an open pipe until its end.
/// \param limit  of the time until the end
std::string content_of_pipe(int pipe, const std::filesystem::path& path, std::uint64_t max_bytes,
                            std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + limit;
  std::string content;
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    pollfd event = {.fd = pipe, .events = POLLIN, .revents = 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    const int ready = left > 0 ? ::poll(&event, 1, static_cast<int>(left)) : 0;
    if (ready == 0) {
      throw Error(Exit::io, text(path.string(), ": this pipe must end within ",
                                 std::chrono::duration<double>(limit).count(),
                                 " s, but has not; write the text to a file, and name that"));
    }
    const auto count = ready < 0 ? -1 : ::read(pipe, buffer.data(), buffer.size());
    if (count == 0) return content;
    if (count < 0 && errno != EINTR && errno != EAGAIN) fail(path, "read", errno);
    if (count > 0) content.append(buffer.data(), static_cast<std::size_t>(count));
    if (content.size() > max_bytes) throw_too_large(path, max_bytes, "more");
  }
}

void replace_atomically(const std::filesystem::path& path, std::string_view content) {
  const auto target = symlink_target(path);
  auto temporary = target;
  temporary += text(".new-", ::getpid());
  ::unlink(temporary.c_str());  // of an earlier process with the same process id; or a planted link
  Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (file.get() < 0) fail(path, "write", errno);
  int error = write_all(file, content);
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (::close(file.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  fail(path, "write", error);
}

}  // namespace

int open_input(const std::filesystem::path& path) {
  return open_regular(AT_FDCWD, path.c_str(), 0, path);
}

int open_input(int folder, const std::string& name, const std::filesystem::path& path) {
  return open_regular(folder, name.c_str(), O_NOFOLLOW, path);
}

void throw_too_large(const std::filesystem::path& path, std::uint64_t max_bytes,
                     const std::string& found) {
  throw Error(Exit::io, text(path.string(), ": must have at most ", max_bytes, " bytes, but has ",
                             found, "; name a smaller file"));
}

std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const Descriptor file(open_input(path));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) fail(path, "read", errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > max_bytes) throw_too_large(path, max_bytes, std::to_string(size));
  std::string content;
  content.reserve(size);
  std::array<char, 1 << 16> buffer{};
  for (;;) {  // to the end: files of /proc have size 0
    const auto count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "read", errno);
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
    if (content.size() > max_bytes) throw_too_large(path, max_bytes, "more");
  }
}

void keep_pipe(const std::filesystem::path& path, std::uint64_t max_bytes,
               std::chrono::milliseconds limit) {
  const int pipe = descriptor_in(path.string());
  struct stat status{};
  if (pipe < 0 || ::fstat(pipe, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  const auto content = content_of_pipe(pipe, path, max_bytes, limit);
  if (content.empty()) {
    throw Error(Exit::io, text(path.string(),
                               ": must have a text, but this pipe is empty; check the command that "
                               "writes to it"));
  }
  const Descriptor file(::memfd_create("settings", MFD_CLOEXEC));
  if (file.get() < 0) fail(path, "read", errno);
  if (const int error = write_all(file, content); error != 0) fail(path, "read", error);
  if (::dup2(file.get(), pipe) < 0) fail(path, "read", errno);  // without close-on-exec
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(path, "write", EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    write_in_place(path, content);
  } else {
    replace_atomically(path, content);
  }
}

}  // namespace evenkeel
