// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "evenkeel/base/utf8.h"

namespace evenkeel {

namespace {

/// Code points from `first` to `last` that a terminal acts on.
struct Range {
  std::uint32_t first, last;
};
constexpr std::array<Range, 7> kActive = {{{0x00, 0x1f},        // C0
                                           {0x7f, 0x9f},        // DEL, C1
                                           {0x61c, 0x61c},      // Arabic letter mark
                                           {0x200e, 0x200f},    // left-to-right, right-to-left mark
                                           {0x2028, 0x202e},    // separators, embeddings, overrides
                                           {0x2066, 0x2069},    // isolates
                                           {0xfeff, 0xfeff}}};  // byte order mark

/// The code point of a well-formed UTF-8 character.
std::uint32_t code_point(std::string_view character) {
  constexpr std::array<std::uint32_t, 5> kFirstBits = {0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t code = static_cast<unsigned char>(character[0]) & kFirstBits.at(character.size());
  for (const char each : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(each) & 0x3f);
  }
  return code;
}

std::string formatted(const char* format, std::uint32_t code) {
  std::array<char, 16> out{};
  std::snprintf(out.data(), out.size(), format, static_cast<unsigned>(code));
  return out.data();
}

/// A character that a terminal shows without acting on it.
std::string printable_character(std::string_view character, bool keeps_lines) {
  const auto code = code_point(character);
  if (code == '\n') return keeps_lines ? "\n" : "\\n";
  if (code == '\t') return keeps_lines ? "\t" : "\\t";
  const bool is_active = std::any_of(kActive.begin(), kActive.end(), [&](const Range& range) {
    return range.first <= code && code <= range.last;
  });
  return is_active ? formatted("\\u%04X", code) : std::string(character);
}

std::string printable_text(std::string_view text, bool keeps_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
    if (length == 0) {
      out += formatted("\\x%02X", static_cast<unsigned char>(text[0]));
    } else {
      out += printable_character(text.substr(0, length), keeps_lines);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return printable_text(text, /*keeps_lines=*/true);
}

std::string printable_line(std::string_view text) {
  return printable_text(text, /*keeps_lines=*/false);
}

std::string shell_word(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace evenkeel
