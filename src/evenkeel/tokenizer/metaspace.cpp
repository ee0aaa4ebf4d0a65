// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/metaspace.h"

namespace evenkeel::tokenizer {

std::optional<unsigned char> fallback_byte(std::string_view token) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const auto high = kDigits.find(token[3]), low = kDigits.find(token[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned char>(high << 4 | low);
}

std::string with_spaces(std::string_view text) {
  std::string out;
  const std::string_view metaspace = kMetaspace;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_space = text.substr(at).starts_with(metaspace);
    out += is_space ? ' ' : text[at];
    at += is_space ? metaspace.size() : 1;
  }
  return out;
}

}  // namespace evenkeel::tokenizer
