// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::tokenizer {

/// The character that a byte-level BPE writes for each byte: printable bytes of Latin-1 are
/// themselves, the 68 other bytes are U+0100 and after, in order.
/// \source GPT-2, bytes_to_unicode()
const std::array<char32_t, 256>& byte_characters();

/// The bytes that a text of such characters stands for; nullopt if it has another character.
std::optional<std::string> bytes_of_characters(std::string_view text);

/// The characters of bytes, as UTF-8.
std::string characters_of_bytes(std::string_view bytes);

}  // namespace evenkeel::tokenizer
