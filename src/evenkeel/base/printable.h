// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace evenkeel {

/// A text that a terminal shows without acting on it, for messages and tables with names from files
/// or from the command line. Line feeds and tabs stay. Other control characters (C0, DEL, C1), line
/// and paragraph separators and the characters that change the direction of a text become \uXXXX,
/// bytes that are not UTF-8 become \xXX. JSON and TOML read \uXXXX inside a string as the
/// character.
/// \source Unicode Standard Annex 9, section 2 (directional formatting characters)
std::string printable(std::string_view text);

/// printable(), in one line: a line feed becomes \n, a tab becomes \t.
std::string printable_line(std::string_view text);

/// A word of a command line that a POSIX shell reads as `word`: 'it'\''s'.
std::string shell_word(const std::string& word);

}  // namespace evenkeel
