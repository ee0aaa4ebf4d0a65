// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "evenkeel/base/digest.h"

namespace evenkeel::data {

/// The size of a file in bytes, and its digest: XXH3-128, 32 hexadecimal digits, as `xxhsum -H2`
/// prints them.
struct FileDigest {
  std::int64_t bytes = 0;
  std::string xxh3;
  bool operator==(const FileDigest&) const = default;
};

/// Adds the bytes of a file to a digest.
/// \return the size of the file in bytes
/// \throws Error (data, exit code 65) if it cannot be read
std::int64_t update_digest(Digest& digest, const std::string& path);

/// Reads the whole file.
/// \throws Error (data, exit code 65) if it cannot be read
FileDigest file_digest(const std::string& path);

}  // namespace evenkeel::data
