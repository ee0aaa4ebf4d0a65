// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace evenkeel::store {

inline constexpr int kMaxJsonDepth = 64;

/// The value that a text is, all of it; discarded (is_discarded()) if the text is not JSON in UTF-8
/// or is nested more than 64 deep. For this floor only.
nlohmann::json parse_json(std::string_view text);

/// The text of a value with sorted keys; numbers in their shortest form, NaN and infinity as null,
/// bytes that are not UTF-8 as U+FFFD.
std::string json_text(const nlohmann::json& value);

}  // namespace evenkeel::store
