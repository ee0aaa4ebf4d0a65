// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/quote.h"

#include <array>
#include <cstdio>

namespace evenkeel::config {

namespace {

constexpr std::string_view kBareKey =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

std::string escaped(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  if (letter == '"' || letter == '\\') return {'\\', letter};
  if (code >= 0x20 && code != 0x7f) return {letter};
  std::array<char, 8> out{};
  std::snprintf(out.data(), out.size(), "\\u%04X", static_cast<unsigned>(code));
  return out.data();
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) out += escaped(letter);
  return out + "\"";
}

std::string key_text(std::string_view key) {
  const bool bare = !key.empty() && key.find_first_not_of(kBareKey) == std::string_view::npos;
  return bare ? std::string(key) : in_quotes(key);
}

}  // namespace evenkeel::config
