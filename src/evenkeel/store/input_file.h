// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "evenkeel/store/directory.h"

namespace evenkeel::store {

/// A regular file, read sequentially. Internal to store/.
class InputFile {
 public:
  /// Opens a file. A symbolic link is followed.
  /// \throws Error (io, exit code 74) if `path` cannot be opened, or is a folder, a pipe or a
  ///         device
  explicit InputFile(const std::filesystem::path& path);

  /// Opens the file `name` of a folder. A symbolic link is an error.
  /// \throws Error (io) as above
  InputFile(const Directory& folder, const std::string& name);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile(InputFile&&) = delete;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// The size in bytes at the time of opening.
  std::uint64_t size() const { return size_; }

  /// Copies the next `size` bytes to `to`.
  /// \throws Error (io) on a read error, or if fewer bytes are left
  void read(void* to, std::size_t size);

  /// The digest of the remaining bytes, up to the size at the time of opening.
  /// \throws Error (io) as read() does
  std::string digest_of_rest();

 private:
  InputFile(std::string path, int descriptor);

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0, at_ = 0;
};

}  // namespace evenkeel::store
