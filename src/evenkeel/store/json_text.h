// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace evenkeel::store {

/// Deeper nesting is refused: functions on JSON values are recursive.
inline constexpr int kMaxJsonDepth = 64;

/// Parses a whole text. The value is discarded (is_discarded()) if the text is not JSON in UTF-8,
/// or is nested more than 64 deep. For this floor only.
nlohmann::json parse_json(std::string_view text);

/// The text of a value, one element a line, with a final line feed. Keys are sorted, numbers have
/// their shortest round-trip form, NaN and infinity are null, bytes that are not UTF-8 are U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace evenkeel::store
