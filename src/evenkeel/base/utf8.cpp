// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/utf8.h"

#include <algorithm>

namespace evenkeel {

namespace {

/// One row of table 3-7: range of the first byte, range of the second byte, length.
struct Row {
  unsigned from, to, second_from, second_to;
  std::size_t length;
};

constexpr Row kTable[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

/// The byte as a number 0 .. 255, because `char` may be signed.
unsigned value(char byte) {
  return static_cast<unsigned char>(byte);
}

}  // namespace

std::size_t utf8_character_length(std::string_view bytes) {
  const auto first = value(bytes[0]);
  const auto* const row = std::find_if(std::begin(kTable), std::end(kTable), [&](const Row& each) {
    return each.from <= first && first <= each.to;
  });
  if (row == std::end(kTable) || bytes.size() < row->length) return 0;
  if (row->length == 1) return 1;
  const auto second = value(bytes[1]);
  if (second < row->second_from || second > row->second_to) return 0;
  const auto tail = bytes.substr(2, row->length - 2);
  return std::all_of(tail.begin(), tail.end(), is_utf8_continuation) ? row->length : 0;
}

std::optional<std::size_t> first_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = utf8_character_length(bytes.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

bool is_utf8_continuation(char byte) {
  return (value(byte) & 0xc0) == 0x80;
}

}  // namespace evenkeel
