// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/html.h"

#include <cmath>
#include <cstdint>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/report/block_figure.h"
#include "evenkeel/report/scripts.h"
#include "evenkeel/report/style_sheet.h"

namespace evenkeel::report {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// The entity of a character that HTML reads as markup; "" for any other.
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

/// True for characters that HTML forbids: U+0000 to U+001F except tab and line feed, and U+007F.
/// \source HTML Living Standard, 13.1.4 (control characters)
bool is_forbidden(char character) {
  const auto code = static_cast<std::uint8_t>(character);
  return (code < 0x20 && character != '\t' && character != '\n') || code == 0x7F;
}

/// True for U+0080 .. U+009F, in UTF-8 C2 80 .. C2 9F.
bool is_second_control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xC2' &&
         static_cast<std::uint8_t>(character[1]) < 0xA0;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const auto length = utf8_character_length(text);
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

std::string page(std::string_view title, std::string_view body, std::string_view events) {
  const bool is_live = !events.empty();
  const auto allowed = text(
      "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; "
      "img-src data: blob:; script-src ",
      script_hash("save_script"), " ", script_hash("page_script"),
      is_live ? " " + script_hash("watch_script") : "", is_live ? "; connect-src 'self'" : "");
  return text(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      allowed,
      "\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
      escaped(title), "</title>\n<style>\n", style_sheet(), block_style(),
      "</style>\n</head>\n<body", is_live ? text(" data-live=\"", escaped(events), '"') : "",
      ">\n<main>\n", body, "</main>\n", element("script", script_text("save_script")), "\n",
      element("script", script_text("page_script")), "\n",
      is_live ? element("script", script_text("watch_script")) : "", "\n</body>\n</html>\n");
}

}  // namespace evenkeel::report
