// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "evenkeel/store/digest.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

/// Size and digest of a file that is durable.
struct WrittenFile {
  std::uint64_t size = 0;
  std::string digest;
};

/// A new file of known size that is written once, from front to back. For this floor only.
class OutputFile {
 public:
  /// Creates the file, which must not exist, and reserves its space where the file system can.
  /// \throws Error (io), as all functions below
  OutputFile(const SystemCalls& system, std::filesystem::path path, std::uint64_t size);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Appends bytes.
  void write(const void* data, std::size_t size);

  /// Flushes to the disk and closes. A failed flush is not retried: the kernel may have dropped the
  /// data and report success the second time.
  WrittenFile finish();

 private:
  const SystemCalls& system_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0, written_ = 0;
  Digest digest_;
};

/// Writes a new file with this content.
/// \throws Error (io)
WrittenFile write_new_file(const SystemCalls& system, const std::filesystem::path& path,
                           const std::string& content);

}  // namespace evenkeel::store
