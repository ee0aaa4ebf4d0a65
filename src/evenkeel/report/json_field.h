// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

/// Fields of JSON records of any version of the program. No function throws.
namespace evenkeel::report {

/// The number of a key; NaN if the key is absent or its value is no number.
double number(const nlohmann::json& record, const char* key);

/// The number at a path inside the record, "/over/probe/median"; NaN as above.
double number(const nlohmann::json& record, const nlohmann::json::json_pointer& path);

/// The value of a key as text: a string without quotes, any other value as JSON; "" if absent.
std::string word(const nlohmann::json& record, const char* key);

}  // namespace evenkeel::report
