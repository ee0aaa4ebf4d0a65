// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/scripts.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::report {

using EmbeddedScripts = std::vector<std::pair<std::string_view, std::string_view>>;

// Of generated sources: the text of each script, and its SHA-256 as hexadecimal digits.
const EmbeddedScripts& embedded_scripts();
const EmbeddedScripts& embedded_script_hashes();

namespace {

std::string_view scripts_entry(const EmbeddedScripts& scripts, std::string_view name) {
  for (const auto& [stem, content] : scripts) {
    if (stem == name) return content;
  }
  EK_ASSERT(false);
  return {};
}

std::uint32_t hex_value(char digit) {
  constexpr int kTen = 10;
  return static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + kTen);
}

/// The bytes of hexadecimal digits as base64 (RFC 4648).
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kGroup = 6;  // digits: 24 bits, 4 letters
  constexpr std::uint32_t kMask = 0x3f;
  std::string out;
  for (std::size_t at = 0; at < hex.size(); at += kGroup) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + kGroup; ++i) {
      bits = (bits << 4U) | (i < hex.size() ? hex_value(hex[i]) : 0U);
    }
    for (const unsigned shift : {18U, 12U, 6U, 0U}) out += kLetters[(bits >> shift) & kMask];
  }
  const std::size_t missing = (kGroup - hex.size() % kGroup) % kGroup / 2;  // bytes
  for (std::size_t at = 0; at < missing; ++at) out[out.size() - 1 - at] = '=';
  return out;
}

}  // namespace

std::string_view script_text(std::string_view name) {
  return scripts_entry(embedded_scripts(), name);
}

std::string script_hash(std::string_view name) {
  return text("'sha256-", base64_of_hex(scripts_entry(embedded_script_hashes(), name)), "'");
}

}  // namespace evenkeel::report
