// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace evenkeel::data {

/// A file that is read in pieces with pread(), without a memory map: memory does not grow with the
/// file, and a file that is truncated during a run gives an Error instead of SIGBUS.
class TokenBytes {
 public:
  /// \throws Error (data, exit code 65) if `path` is missing, unreadable or not a regular file
  explicit TokenBytes(std::string path);
  TokenBytes(TokenBytes&& other) noexcept;
  TokenBytes(const TokenBytes&) = delete;
  TokenBytes& operator=(const TokenBytes&) = delete;
  TokenBytes& operator=(TokenBytes&&) = delete;
  ~TokenBytes();

  /// The size in bytes when the file was opened.
  std::int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  /// Copies the bytes [offset, offset + count) to `out`. Thread-safe.
  /// \throws Error (data, exit code 65) if the file has become shorter
  void read(std::int64_t offset, std::int64_t count, void* out) const;

  /// The little-endian number at byte `offset`.
  template <typename T>
  T value(std::int64_t offset) const {
    T value{};
    read(offset, sizeof value, &value);
    return value;
  }

  /// \throws Error (data, exit code 65): "path: reason"
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace evenkeel::data
