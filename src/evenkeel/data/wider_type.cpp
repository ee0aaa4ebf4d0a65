// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/wider_type.h"

#include <algorithm>
#include <array>
#include <vector>

namespace evenkeel::data {

namespace {

constexpr std::size_t kPeriod = 8;  // the largest type has 8 times the bytes of the smallest

/// By position modulo 8, the largest of the first 64 KiB of numbers of `item` bytes each.
std::array<std::uint64_t, kPeriod> largest_by_position(const TokenBytes& file, std::int64_t item) {
  constexpr std::int64_t kBytes = 1 << 16;
  std::vector<unsigned char> bytes(static_cast<std::size_t>(std::min(kBytes, file.size())));
  file.read(0, static_cast<std::int64_t>(bytes.size()), bytes.data());
  std::array<std::uint64_t, kPeriod> largest{};
  const auto step = static_cast<std::size_t>(item);
  for (std::size_t i = 0; (i + 1) * step <= bytes.size(); ++i) {
    std::uint64_t value = 0;
    for (auto at = step; at-- > 0;) value = value << 8U | bytes[i * step + at];
    largest.at(i % kPeriod) = std::max(largest.at(i % kPeriod), value);
  }
  return largest;
}

}  // namespace

std::optional<TokenType> wider_type(const TokenBytes& file, const TokenLayout& layout,
                                    std::int64_t vocabulary) {
  constexpr std::int64_t kFewest = 16;
  const auto item = item_bytes(layout.type);
  if (layout.count < kFewest) return std::nullopt;
  const auto largest = largest_by_position(file, item);
  const auto limit = static_cast<std::uint64_t>(vocabulary - 1);
  for (const auto type : {TokenType::uint64, TokenType::uint32, TokenType::uint16}) {
    const auto parts = static_cast<std::size_t>(item_bytes(type) / item);  // of an id
    if (parts < 2 || file.size() % item_bytes(type) != 0) continue;
    bool fits = largest.front() > 0;
    for (std::size_t i = 0; i < kPeriod; ++i) {
      const auto shift = 8 * static_cast<std::size_t>(item) * (i % parts);
      if (i % parts != 0) fits = fits && largest.at(i) <= limit >> shift;
    }
    if (fits) return type;
  }
  return std::nullopt;
}

}  // namespace evenkeel::data
