// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace evenkeel::store {

/// The maximum nesting depth of a JSON text. It bounds recursive functions over JSON values.
inline constexpr int kMaxJsonDepth = 64;

/// Parses a JSON text. The result is_discarded() if the text is not valid JSON in UTF-8, or has
/// more than kMaxJsonDepth levels. Internal to store/.
nlohmann::json parse_json(std::string_view text);

/// The text of a JSON value: one element per line, sorted keys, numbers in their shortest
/// round-trip form, and a final line feed. NaN and infinity become null. Invalid UTF-8 becomes
/// U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace evenkeel::store
