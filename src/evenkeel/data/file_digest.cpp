// SPDX-License-Identifier: Apache-2.0
#define XXH_INLINE_ALL
#include "evenkeel/data/file_digest.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/data/token_bytes.h"

namespace evenkeel::data {

FileDigest file_digest(const std::string& path) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  const TokenBytes file(path);
  XXH3_state_t state;
  EK_ASSERT(XXH3_128bits_reset(&state) == XXH_OK);
  std::vector<char> piece(static_cast<std::size_t>(kPiece));
  for (std::int64_t at = 0; at < file.size(); at += kPiece) {
    const auto size = std::min(kPiece, file.size() - at);
    file.read(at, size, piece.data());
    EK_ASSERT(XXH3_128bits_update(&state, piece.data(), static_cast<std::size_t>(size)) == XXH_OK);
  }
  const auto hash = XXH3_128bits_digest(&state);
  std::array<char, 33> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return {.bytes = file.size(), .xxh3 = digits.data()};
}

}  // namespace evenkeel::data
