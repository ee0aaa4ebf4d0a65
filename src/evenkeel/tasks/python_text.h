// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Functions of Python's str, for texts in UTF-8. The prompts of OLMo's tasks are made with them,
// and differences in a character change token ids.
namespace evenkeel::tasks {

/// str.strip(): without white space at both ends, that of Unicode included.
std::string_view strip(std::string_view text);

/// str.rstrip(): without the same white space at the end.
std::string_view rstrip(std::string_view text);

/// str.capitalize(): the first character in title case, the rest in lower case.
std::string capitalize(std::string_view text);

/// text[0].lower() + text[1:]. Empty for an empty text.
std::string first_lower(std::string_view text);

/// text[:-1]: without the last character. Empty for an empty text.
std::string_view without_last(std::string_view text);

/// int(text) for decimal digits with an optional sign; nullopt for another text.
std::optional<std::int64_t> integer_of(std::string_view text);

}  // namespace evenkeel::tasks
