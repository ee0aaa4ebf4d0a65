// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/json_text.h"

#include <algorithm>
#include <string>

namespace evenkeel::store {

namespace {

/// The maximum nesting depth of objects and arrays.
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

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  using nlohmann::json;
  // nlohmann::json takes a zero byte as the end of the text and would ignore the rest.
  if (text.find('\0') != std::string_view::npos || depth_of(text) > kMaxJsonDepth) {
    return json(json::value_t::discarded);
  }
  return json::parse(text, nullptr, false);
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace evenkeel::store
