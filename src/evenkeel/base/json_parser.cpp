// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/json_parser.h"

#include <algorithm>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

/// The maximum nesting depth of objects and arrays, up to the first error of a text that is no
/// JSON.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char each = text[at];
    if (in_string && each == '\\') {
      ++at;  // an escaped quote does not end the string
    } else if (each == '"') {
      in_string = !in_string;
    } else if (!in_string && (each == '{' || each == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (each == '}' || each == ']')) {
      --depth;
    }
  }
  return deepest;
}

/// True if nlohmann::json may parse the text. It takes a zero byte as the end of the text and would
/// ignore the rest.
bool is_safe(std::string_view text) {
  return text.find('\0') == std::string_view::npos && depth_of(text) <= kMaxDepth;
}

template <typename Json>
Json parsed(std::string_view text) {
  if (!is_safe(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  return parsed<nlohmann::json>(text);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return parsed<nlohmann::ordered_json>(text);
}

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  using nlohmann::json;
  const auto refuse = [&](const auto&... what) {
    throw Error(Exit::data, evenkeel::text(where, ": ", what...));
  };
  if (depth_of(text) > kMaxDepth) {
    refuse("must be nested at most ", kMaxDepth, " deep, but is deeper");
  }
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    refuse("must be JSON, but is not at column ", zero + 1);
  }
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    refuse("must be JSON, but is not at column ", error.byte);
  } catch (const json::out_of_range&) {
    refuse("must be JSON whose numbers are finite in float64, but one is larger");
  }
  return {};
}

}  // namespace evenkeel
