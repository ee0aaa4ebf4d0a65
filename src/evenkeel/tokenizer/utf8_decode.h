// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace evenkeel::tokenizer {

/// A code point and the number of its bytes.
struct Decoded {
  char32_t code;
  unsigned length;
};

/// The first character of [at, end), which must be well-formed UTF-8 and not empty.
inline Decoded decode_utf8(const char* at) {
  const auto byte = [at](int index) {
    return static_cast<char32_t>(static_cast<unsigned char>(at[index]));
  };
  constexpr char32_t kTail = 0x3f;
  const auto first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1f) << 6 | (byte(1) & kTail), 2};
  if (first < 0xf0) {
    return {(first & 0x0f) << 12 | (byte(1) & kTail) << 6 | (byte(2) & kTail), 3};
  }
  return {
      (first & 0x07) << 18 | (byte(1) & kTail) << 12 | (byte(2) & kTail) << 6 | (byte(3) & kTail),
      4};
}

/// The first character of a text. \param text  well-formed UTF-8, not empty
inline Decoded first_character(std::string_view text) {
  return decode_utf8(&text.front());
}

/// Appends a code point as UTF-8.
inline void append_utf8(std::string& out, char32_t code) {
  constexpr char32_t kTail = 0x3f;
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & kTail));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & kTail));
    put(0x80 | (code & kTail));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & kTail));
    put(0x80 | (code >> 6 & kTail));
    put(0x80 | (code & kTail));
  }
}

}  // namespace evenkeel::tokenizer
