// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace evenkeel {

/// The offset of the first byte that does not belong to well-formed UTF-8; none if all bytes do.
/// Overlong forms, surrogates and code points above 10FFFF are not well-formed.
/// \source The Unicode Standard, section 3.9, table 3-7
std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

/// The length in bytes (1 to 4) of the character at the start of `bytes`; 0 if the bytes there are
/// not well-formed.
/// \param bytes  not empty
std::size_t utf8_character_length(std::string_view bytes);

/// Whether `byte` continues a character rather than begins one.
bool is_utf8_continuation(char byte);

}  // namespace evenkeel
