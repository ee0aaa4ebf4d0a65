// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "evenkeel/base/digest.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/system_calls.h"

namespace evenkeel::store {

/// The size and the digest of a durable file.
struct WrittenFile {
  std::uint64_t size = 0;
  std::string digest;
};

/// A new file of known size, written sequentially once.
class OutputFile {
 public:
  /// Creates the file and, if the file system supports it, reserves its space. The file must not
  /// exist.
  /// \param folder  descriptor of its folder, or AT_FDCWD if `name` is a path
  /// \param path    for messages
  /// \throws Error (io, exit code 74), as all functions of this class do
  OutputFile(const SystemCalls& system, int folder, const std::string& name,
             std::filesystem::path path, std::uint64_t size);

  /// As above, in an open folder.
  OutputFile(const Directory& folder, const std::string& name, std::uint64_t size)
      : OutputFile(folder.system(), folder.descriptor(), name, folder.path() / name, size) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  /// Appends bytes.
  void write(const void* data, std::size_t size);

  /// Flushes the data to disk (fsync) and closes the file. A failed fsync is not retried: the
  /// kernel may have dropped the data and would report success.
  WrittenFile finish();

 private:
  const SystemCalls& system_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0, written_ = 0;
  Digest digest_;
};

/// Writes a new file with this content, durably.
/// \param shown  path for messages
/// \throws Error (io, exit code 74)
WrittenFile write_new_file(const Directory& folder, const std::string& name,
                           std::string_view content, const std::filesystem::path& shown);

}  // namespace evenkeel::store
