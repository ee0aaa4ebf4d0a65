// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/html.h"

#include <cmath>
#include <cstdint>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/style_sheet.h"

namespace evenkeel::report {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// How many bytes at the start of `text` make one character of well-formed UTF-8; 0 if none do.
/// \source The Unicode Standard, table 3-7
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) > 0x9F;
  const bool beyond = first == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string_view entity(char character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

bool is_forbidden(char character) {
  const auto code = static_cast<std::uint8_t>(character);
  return (code < 0x20 && character != '\t' && character != '\n') || code == 0x7F;
}

/// U+0080 .. U+009F, written in UTF-8 as C2 80 .. C2 9F.
bool is_second_control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xC2' &&
         static_cast<std::uint8_t>(character[1]) < 0xA0;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const auto length = character_length(text);
    const auto character = text.substr(0, length == 0 ? 1 : length);
    const bool ends_line = text.substr(0, 2) == "\r\n";
    text.remove_prefix(character.size());
    if (ends_line) continue;  // the line feed follows
    if (length == 0 || is_forbidden(character[0]) || is_second_control(character)) {
      out += kReplacement;
    } else if (const auto name = entity(character[0]); !name.empty()) {
      out += name;
    } else {
      out += character;
    }
  }
  return out;
}

std::string element(std::string_view tag, std::string_view content, std::string_view name) {
  if (name.empty()) return text('<', tag, '>', content, "</", tag, '>');
  return text('<', tag, " class=\"", name, "\">", content, "</", tag, '>');
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "–";
  return with_decimals(value, decimals);
}

std::string page(std::string_view title, std::string_view body) {
  return text(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
      escaped(title), "</title>\n<style>\n", style_sheet(), "</style>\n</head>\n<body>\n", body,
      "</body>\n</html>\n");
}

}  // namespace evenkeel::report
