// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/byte_characters.h"

#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {

namespace {

constexpr char32_t kFirstOther = 0x100, kOthers = 68;

bool is_printable_latin(char32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/// The byte of each character below U+0100 + 68; -1 for none.
std::array<int, kFirstOther + kOthers> bytes_by_character() {
  std::array<int, kFirstOther + kOthers> out{};
  out.fill(-1);
  int byte = 0;
  for (const auto each : byte_characters()) out[each] = byte++;
  return out;
}

}  // namespace

const std::array<char32_t, 256>& byte_characters() {
  static const auto kCharacters = [] {
    std::array<char32_t, 256> out{};
    char32_t other = kFirstOther;
    for (char32_t byte = 0; byte < out.size(); ++byte) {
      out[byte] = is_printable_latin(byte) ? byte : other++;
    }
    return out;
  }();
  return kCharacters;
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  static const auto kBytes = bytes_by_character();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = decode_utf8(text.data() + at);
    if (code >= kBytes.size() || kBytes[code] < 0) return std::nullopt;
    out += static_cast<char>(kBytes[code]);
    at += length;
  }
  return out;
}

std::string characters_of_bytes(std::string_view bytes) {
  std::string out;
  for (const char each : bytes)
    append_utf8(out, byte_characters()[static_cast<unsigned char>(each)]);
  return out;
}

}  // namespace evenkeel::tokenizer
