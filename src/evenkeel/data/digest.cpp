// SPDX-License-Identifier: Apache-2.0
#define XXH_INLINE_ALL
#include "evenkeel/data/digest.h"

#include <xxhash.h>

#include <array>
#include <bit>
#include <cstdio>

namespace evenkeel::data {

static_assert(std::endian::native == std::endian::little);

std::string digest(const std::vector<std::uint16_t>& tokens) {
  const auto hash = XXH3_128bits(tokens.data(), tokens.size() * sizeof(std::uint16_t));
  constexpr std::size_t kDigits = 32;
  std::array<char, kDigits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return {digits.data(), kDigits};
}

}  // namespace evenkeel::data
