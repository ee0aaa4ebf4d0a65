// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace evenkeel {

/// The text of a JSON value. Invalid UTF-8 becomes U+FFFD, where dump() alone would throw.
/// \param indent        spaces per level; -1: all on one line
/// \param ensure_ascii  escapes all other characters as \\uXXXX
/// \tparam Json         nlohmann::json or nlohmann::ordered_json
template <typename Json>
std::string json_dump(const Json& value, int indent = -1, bool ensure_ascii = false) {
  return value.dump(indent, ' ', ensure_ascii, Json::error_handler_t::replace);
}

}  // namespace evenkeel
