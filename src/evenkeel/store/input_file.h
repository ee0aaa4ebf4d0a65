// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace evenkeel::store {

/// A regular file that is read from front to back. For this floor only.
class InputFile {
 public:
  /// Whether a symbolic link is opened.
  enum class Links { follow, refuse };

  /// \throws Error (io) if it cannot be opened or is a folder, a pipe, a device
  explicit InputFile(const std::filesystem::path& path, Links links = Links::follow);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile(InputFile&&) = delete;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// Bytes of the file when it was opened.
  std::uint64_t size() const { return size_; }

  /// Copies the next `size` bytes to `to`.
  /// \throws Error (io) if there are fewer, or they cannot be read
  void read(void* to, std::size_t size);

  /// The digest of the remaining bytes, up to the size at opening.
  /// \throws Error (io) as read() does
  std::string digest_of_rest();

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0, at_ = 0;
};

}  // namespace evenkeel::store
