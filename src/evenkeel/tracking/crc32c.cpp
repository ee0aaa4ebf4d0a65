// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/crc32c.h"

#include <array>

namespace evenkeel::tracking {

namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kReflectedPolynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? kReflectedPolynomial : 0);
    }
    table[byte] = rest;
  }
  return table;
}

constexpr auto kCrcTable = crc_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char each : bytes) {
    const auto index = (crc ^ static_cast<unsigned char>(each)) & 0xffU;
    crc = (crc >> 8U) ^ kCrcTable[index];
  }
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  constexpr std::uint32_t kDelta = 0xa282ead8;
  const auto crc = crc32c(bytes);
  return ((crc >> 15U) | (crc << 17U)) + kDelta;
}

}  // namespace evenkeel::tracking
