// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "evenkeel/store/digest.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

/// What a file holds, once it is durable.
struct Written {
  std::uint64_t size = 0;
  std::string digest;
};

/// A new file of known size, written once from front to back. For this floor only.
class OutFile {
 public:
  /// Creates the file, which must not be there, and reserves its space where the file system can.
  /// \throws Error (io), as all below
  OutFile(const SystemCalls& system, std::filesystem::path path, std::uint64_t size);
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;
  OutFile(OutFile&&) = delete;
  OutFile& operator=(OutFile&&) = delete;
  ~OutFile();

  void add(const void* data, std::size_t size);

  /// Flushes and closes. After a failed flush the kernel may have dropped the data and forgotten
  /// the failure, so nobody may try again: the file is lost.
  Written finish();

 private:
  const SystemCalls& system_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0, written_ = 0;
  Digest digest_;
};

/// A whole new file of these bytes.
Written write_new_file(const SystemCalls& system, const std::filesystem::path& path,
                       const std::string& content);

}  // namespace evenkeel::store
