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

/// A new file of known size, written once from front to back. For this floor only.
class OutputFile {
 public:
  /// Creates the file, which must not be there, and reserves its space where the file system can.
  /// \throws Error (io), as all below
  OutputFile(const SystemCalls& system, std::filesystem::path path, std::uint64_t size);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  void write(const void* data, std::size_t size);

  /// Flushes and closes. After a failed flush the kernel may have dropped the data and forgotten
  /// the failure, so a retry is useless: the file is lost.
  WrittenFile finish();

 private:
  const SystemCalls& system_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0, written_ = 0;
  Digest digest_;
};

/// A whole new file of these bytes.
WrittenFile write_new_file(const SystemCalls& system, const std::filesystem::path& path,
                           const std::string& content);

}  // namespace evenkeel::store
