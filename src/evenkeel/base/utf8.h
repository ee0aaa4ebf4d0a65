// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace evenkeel {

/// U+FEFF, which some programs write at the start of a file; it is not part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The offset of the first byte that is not well-formed UTF-8; nullopt if all bytes are.
/// Overlong forms, surrogates and code points above 10FFFF are not well-formed.
/// \source The Unicode Standard, section 3.9, table 3-7
std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

/// The length in bytes (1 to 4) of the first character of `bytes`; 0 if it is not well-formed.
/// \param bytes  not empty
std::size_t utf8_character_length(std::string_view bytes);

/// True if `byte` is a continuation byte of a UTF-8 character.
bool is_utf8_continuation(char byte);

}  // namespace evenkeel
