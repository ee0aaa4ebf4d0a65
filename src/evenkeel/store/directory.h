// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/file.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

/// The identity of a file or folder: equal for two paths of one file, different after another file
/// took a path.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// The identity of an open file or folder.
/// \throws Error (io, exit code 74). \param path  for the message
FileIdentity identity_of(int descriptor, const std::filesystem::path& path);

/// An open folder. All functions are relative to its descriptor: they act on this folder also after
/// it was moved, and never on another one that took its path. No symbolic link inside the folder is
/// followed. Copies share the descriptor.
class Directory {
 public:
  /// Opens an existing folder. Symbolic links in `path` are followed: the user typed them.
  /// \param system  must outlive the Directory and its copies
  /// \throws Error (io, exit code 74), as all functions of this class do
  explicit Directory(const std::filesystem::path& path, const SystemCalls& system = kernel_calls());

  /// Opens a folder; nullopt if no folder has this path.
  static std::optional<Directory> find(const std::filesystem::path& path);

  /// This folder, accessed by other system calls. \param system  must outlive the result
  Directory with(const SystemCalls& system) const;

  /// Opens the folder `name` in this one.
  Directory folder(const std::string& name) const;

  /// The path at the time of opening, for messages.
  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return *descriptor_; }
  const SystemCalls& system() const { return *system_; }

  /// True if path() still names this folder.
  bool is_at_its_path() const;

  /// The current absolute path; "" if the folder was removed, or the path is unknown.
  std::string current_path() const;

  /// True if an entry has this name, also a symbolic link.
  bool has(const std::string& name) const;

  /// True if a regular file, and no link, has this name.
  bool has_file(const std::string& name) const;

  /// True if a folder, and no link, has this name.
  bool has_folder(const std::string& name) const;

  /// The names of all entries, sorted.
  std::vector<std::string> entries() const;

  /// Checks that the entry `name` is a regular file and no link, for a function that reads its
  /// path.
  void check_file(const std::string& name) const;

  /// The content of the regular file `name`, of at most `max_bytes`.
  std::string read(const std::string& name, std::uint64_t max_bytes = kMaxTextBytes) const;

  /// Replaces the file `name` atomically and durably. A symbolic link of this name is replaced; its
  /// target does not change.
  void write(const std::string& name, std::string_view content) const;

  /// Creates the folder `name` durably, unless it exists.
  void make_folder(const std::string& name) const;

  /// Renames an entry of this folder. An existing file `to` is replaced.
  void rename(const std::string& from, const std::string& to) const;

  /// Removes a file, a link, or a folder with its content. Continues after a failure.
  /// \return 0, or the first errno
  int remove(const std::string& name) const;

  /// Makes the entries durable (fsync).
  void flush() const;

 private:
  Directory(std::shared_ptr<const int> descriptor, std::filesystem::path path,
            const SystemCalls& system);

  std::shared_ptr<const int> descriptor_;
  std::filesystem::path path_;
  const SystemCalls* system_;
};

}  // namespace evenkeel::store
