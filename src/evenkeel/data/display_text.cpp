// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/display_text.h"

#include <algorithm>
#include <cstdint>

#include "evenkeel/base/utf8.h"

namespace evenkeel::data {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// The bytes of a character that starts with `lead`; 0 if none does.
std::size_t announced_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

/// True if the second byte of a character fits its first one (table 3-7 of the standard).
bool second_byte_fits(unsigned char lead, unsigned char second) {
  if (lead == 0xe0) return second >= 0xa0;
  if (lead == 0xed) return second <= 0x9f;
  if (lead == 0xf0) return second >= 0x90;
  return lead != 0xf4 || second <= 0x8f;
}

/// The length of the longest beginning of a character at the front of `bytes`; 0 if there is none.
std::size_t beginning_length(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const auto announced = announced_length(lead);
  if (announced == 0) return 0;
  std::size_t length = 1;
  while (length < std::min(announced, bytes.size()) && is_utf8_continuation(bytes[length])) {
    if (length == 1 && !second_byte_fits(lead, static_cast<unsigned char>(bytes[1]))) break;
    ++length;
  }
  return length;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
  const bool is_c1 = first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  return is_c1 && character.size() == 2;
}

}  // namespace

std::string DisplayStream::add(std::string_view bytes) {
  pending_ += bytes;
  std::string_view rest = pending_;
  std::string out;
  while (!rest.empty()) {
    const auto whole = utf8_character_length(rest);
    const auto length = whole > 0 ? whole : std::max<std::size_t>(1, beginning_length(rest));
    const bool is_cut = whole == 0 && length == rest.size() && beginning_length(rest) > 0;
    if (is_cut) break;
    const auto character = rest.substr(0, length);
    const bool is_hidden = controls_ == Controls::replaced && is_control(character);
    out += whole == 0 || is_hidden ? kReplacement : character;
    rest.remove_prefix(length);
  }
  pending_ = std::string(rest);
  return out;
}

std::string DisplayStream::finish() {
  const bool is_cut = !pending_.empty();
  pending_.clear();
  return std::string(is_cut ? kReplacement : "");
}

std::string display_text(std::string_view bytes) {
  DisplayStream stream;
  auto out = stream.add(bytes);
  return out + stream.finish();
}

}  // namespace evenkeel::data
