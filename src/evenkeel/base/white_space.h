// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// White space as Python's str.isspace(): characters of category Zs or of bidirectional class WS, B
/// or S. That of Unicode, and U+001C to U+001F.
namespace evenkeel {

/// The length in bytes of the white space character that a UTF-8 text begins with; 0 for none.
std::size_t white_space_at_start(std::string_view text);

/// The length in bytes of the white space character that a UTF-8 text ends with; 0 for none.
std::size_t white_space_at_end(std::string_view text);

}  // namespace evenkeel
