// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace evenkeel::store {

/// A plain file that is open for reading from its beginning. For this floor only.
class InputFile {
 public:
  enum class Links { follow, refuse };

  /// \throws Error (io) if it cannot be opened or is a folder, a pipe, a device
  explicit InputFile(const std::filesystem::path& path, Links links = Links::follow);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile(InputFile&&) = delete;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  std::uint64_t size() const { return size_; }  // when it was opened

  /// The next `size` bytes.
  /// \throws Error (io) if there are fewer
  void read(void* to, std::size_t size);

  /// XXH3-128 of the rest, up to the size at opening.
  std::string digest_of_rest();

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0, at_ = 0;
};

}  // namespace evenkeel::store
