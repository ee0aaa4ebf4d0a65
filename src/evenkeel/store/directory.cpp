// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/directory.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "evenkeel/store/input_file.h"
#include "evenkeel/store/output_file.h"

namespace evenkeel::store {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// A descriptor that the last copy closes. Closing a folder loses no data, so its result does not
/// matter.
std::shared_ptr<const int> shared_descriptor(int descriptor) {
  return {new int(descriptor), [](const int* open) {
            ::close(*open);
            delete open;
          }};
}

FileIdentity identity_in(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

/// \throws Error (io): as throw_system_error(), and where a link without a target points
[[noreturn]] void throw_open_error(const std::filesystem::path& path, int error) {
  std::error_code none;
  const auto target = std::filesystem::read_symlink(path, none);
  if (error != ENOENT || none) throw_system_error(path, "open", error);
  throw Error(Exit::io, text(path.string(), ": is a symbolic link to ", target.string(),
                             ", which does not exist; make that folder, or remove the link"));
}

/// The type bits of an entry (S_IFREG, S_IFLNK, ...); 0 with errno if there is none.
mode_t type_of(int folder, const std::string& name) {
  struct stat status{};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return status.st_mode & S_IFMT;
}

}  // namespace

FileIdentity identity_of(int descriptor, const std::filesystem::path& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) throw_system_error(path, "examine", errno);
  return identity_in(status);
}

Directory::Directory(std::shared_ptr<const int> descriptor, std::filesystem::path path,
                     const SystemCalls& system)
    : descriptor_(std::move(descriptor)), path_(std::move(path)), system_(&system) {}

Directory::Directory(const std::filesystem::path& path, const SystemCalls& system)
    : path_(path), system_(&system) {
  const int descriptor = system.openat(AT_FDCWD, path.c_str(), kFolderFlags, 0);
  if (descriptor < 0) throw_open_error(path, errno);
  descriptor_ = shared_descriptor(descriptor);
}

std::optional<Directory> Directory::find(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), kFolderFlags);
  if (descriptor >= 0) {
    return Directory(shared_descriptor(descriptor), path, kernel_calls());
  }
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw_system_error(path, "open", errno);
}

Directory Directory::with(const SystemCalls& system) const {
  return {descriptor_, path_, system};
}

Directory Directory::folder(const std::string& name) const {
  const int opened = system_->openat(descriptor(), name.c_str(), kFolderFlags | O_NOFOLLOW, 0);
  if (opened >= 0) return {shared_descriptor(opened), path_ / name, *system_};
  const int error = errno;
  const bool is_link = error == ENOTDIR && type_of(descriptor(), name) == S_IFLNK;
  throw_system_error(path_ / name, "open", is_link ? ELOOP : error);
}

bool Directory::is_at_its_path() const {
  struct stat status{};
  if (::stat(path_.c_str(), &status) == 0) {
    return identity_in(status) == identity_of(descriptor(), path_);
  }
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw_system_error(path_, "examine", errno);
}

std::string Directory::current_path() const {
  std::error_code none;
  struct stat status{};
  const auto target = std::filesystem::read_symlink(text("/proc/self/fd/", descriptor()), none);
  const bool exists = !none && ::stat(target.c_str(), &status) == 0;
  return exists && identity_in(status) == identity_of(descriptor(), path_) ? target.string() : "";
}

bool Directory::has(const std::string& name) const {
  if (type_of(descriptor(), name) != 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) throw_system_error(path_ / name, "examine", errno);
  return false;
}

bool Directory::has_file(const std::string& name) const {
  return type_of(descriptor(), name) == S_IFREG;
}

bool Directory::has_folder(const std::string& name) const {
  return type_of(descriptor(), name) == S_IFDIR;
}

std::vector<std::string> Directory::entries() const {
  const int own = ::openat(descriptor(), ".", kFolderFlags);  // readdir moves its position
  if (own < 0) throw_system_error(path_, "list", errno);
  auto* const stream = ::fdopendir(own);
  if (stream == nullptr) {
    const int error = errno;
    ::close(own);
    throw_system_error(path_, "list", error);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const auto* const entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(stream);
  if (error != 0) throw_system_error(path_, "list", error);
  std::sort(names.begin(), names.end());
  return names;
}

void Directory::check_file(const std::string& name) const {
  const InputFile opened(*this, name);
}

std::string Directory::read(const std::string& name, std::uint64_t max_bytes) const {
  InputFile file(*this, name);
  if (file.size() > max_bytes) {
    throw_too_large(path_ / name, max_bytes, std::to_string(file.size()));
  }
  std::string content(file.size(), '\0');
  file.read(content.data(), content.size());
  return content;
}

void Directory::write(const std::string& name, std::string_view content) const {
  const auto temporary = text(name, ".new-", ::getpid());
  remove(temporary);  // of an earlier process with the same process id
  try {
    write_new_file(*this, temporary, content, path_ / name);
    rename(temporary, name);
  } catch (...) {
    remove(temporary);
    throw;
  }
}

void Directory::make_folder(const std::string& name) const {
  constexpr mode_t kModeBeforeUmask = 0777;
  if (type_of(descriptor(), name) == S_IFDIR) return;
  if (system_->mkdirat(descriptor(), name.c_str(), kModeBeforeUmask) != 0 && errno != EEXIST) {
    throw_system_error(path_ / name, "make the folder", errno);
  }
  flush();
}

void Directory::rename(const std::string& from, const std::string& to) const {
  if (system_->rename(descriptor(), from.c_str(), to.c_str()) != 0) {
    throw_system_error(path_ / to, "rename to", errno);
  }
}

int Directory::remove(const std::string& name) const {
  if (type_of(descriptor(), name) != S_IFDIR) {
    return system_->unlinkat(descriptor(), name.c_str(), 0) == 0 || errno == ENOENT ? 0 : errno;
  }
  const int opened = system_->openat(descriptor(), name.c_str(), kFolderFlags | O_NOFOLLOW, 0);
  if (opened < 0) return errno;
  int first = 0;
  {
    const Directory inner(shared_descriptor(opened), path_ / name, *system_);
    for (const auto& each : inner.entries()) {
      const int failure = inner.remove(each);
      if (first == 0) first = failure;
    }
  }
  if (system_->unlinkat(descriptor(), name.c_str(), AT_REMOVEDIR) != 0 && first == 0) first = errno;
  return first;
}

void Directory::flush() const {
  if (system_->fsync(descriptor()) != 0) throw_system_error(path_, "flush", errno);
}

}  // namespace evenkeel::store
