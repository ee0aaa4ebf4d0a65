// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace evenkeel::data {

/// A file that appears under its name when it is complete and durable: it is written as NAME.part,
/// flushed (fsync) and renamed. Replaces an older file.
class NewFile {
 public:
  /// \throws Error (io, exit code 74), as all functions of this class do
  explicit NewFile(std::filesystem::path path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  NewFile(NewFile&&) = delete;
  NewFile& operator=(NewFile&&) = delete;
  /// Removes a file that is not finished.
  ~NewFile();

  const std::filesystem::path& path() const { return path_; }
  /// The bytes that were appended.
  std::int64_t size() const { return size_; }

  void append(const void* data, std::size_t size);

  /// Replaces the first bytes of the file.
  void overwrite_start(const void* data, std::size_t size);

  /// Calls use(data, size) for the bytes from `offset` on, in order, and removes them from the
  /// file.
  template <typename Use>
  void take_end(std::int64_t offset, const Use& use) {
    constexpr std::int64_t kSome = std::int64_t{1} << 20;
    flush_buffer();
    std::string some;
    for (auto at = offset; at < size_; at += static_cast<std::int64_t>(some.size())) {
      some.resize(static_cast<std::size_t>(std::min(kSome, size_ - at)));
      read_all(some.data(), some.size(), at);
      use(some.data(), some.size());
    }
    truncate(offset);
  }

  /// Makes the file and its name durable.
  void finish();

 private:
  void flush_buffer();
  void write_all(const char* data, std::size_t size, std::int64_t offset);
  void read_all(char* data, std::size_t size, std::int64_t offset);
  void truncate(std::int64_t size);
  [[noreturn]] void fail(const char* what, int error) const;

  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  std::string buffer_;  // the last bytes of the file, not yet written
  std::int64_t size_ = 0;
};

}  // namespace evenkeel::data
