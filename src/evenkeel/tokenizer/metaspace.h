// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::tokenizer {

/// U+2581, which SentencePiece writes for a space.
inline constexpr const char* kMetaspace = "\xe2\x96\x81";

/// A text in which U+2581 is a space.
std::string with_spaces(std::string_view text);

/// The byte of a token as "<0x0A>"; nullopt for another token.
std::optional<unsigned char> fallback_byte(std::string_view token);

}  // namespace evenkeel::tokenizer
