// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/file_digest.h"

#include <algorithm>
#include <vector>

#include "evenkeel/data/token_bytes.h"

namespace evenkeel::data {

std::int64_t update_digest(Digest& digest, const std::string& path) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  const TokenBytes file(path);
  std::vector<char> piece(static_cast<std::size_t>(kPiece));
  for (std::int64_t at = 0; at < file.size(); at += kPiece) {
    const auto size = std::min(kPiece, file.size() - at);
    file.read(at, size, piece.data());
    digest.update(piece.data(), static_cast<std::size_t>(size));
  }
  return file.size();
}

FileDigest file_digest(const std::string& path) {
  Digest digest;
  const auto bytes = update_digest(digest, path);
  return {.bytes = bytes, .xxh3 = digest.hex()};
}

}  // namespace evenkeel::data
