// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace evenkeel {

/// The maximum nesting depth of a JSON or TOML text. It bounds recursive functions over the values.
inline constexpr int kMaxDepth = 64;

/// Parses a JSON text. The result is_discarded() if the text is not valid JSON in UTF-8, has a
/// number that float64 cannot hold, or is nested deeper than kMaxDepth. No other code calls the
/// parser of nlohmann::json (tools/check_floors.py).
nlohmann::json parse_json(std::string_view text);

/// parse_json() with the keys of objects in their order.
nlohmann::ordered_json parse_ordered_json(std::string_view text);

/// parse_json() with the reason of a refusal.
/// \param where  file and line, for messages
/// \throws Error (data, exit code 65): "a.jsonl:2: must be JSON, but is not at column 10"
nlohmann::json parse_json(std::string_view text, const std::string& where);

}  // namespace evenkeel
