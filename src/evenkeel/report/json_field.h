// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

/// Fields of JSON records of any version of the program. No function throws.
namespace evenkeel::report {

/// The number that a JSON value is; NaN for any other type and beyond 1e150, 0 below 1e-150. So
/// squares, ratios and sums of the numbers of a file are finite.
double number_of(const nlohmann::json& value);

/// number_of() of a key; NaN if the key is absent.
double number(const nlohmann::json& record, const char* key);

/// The step of a record; NaN unless it is a number of absolute value at most 2^53.
double step_of(const nlohmann::json& record, const char* key = "step");

/// number_of() of a path inside the record, "/over/probe/median"; NaN if the path is absent.
double number(const nlohmann::json& record, const nlohmann::json::json_pointer& path);

/// The value of a key as text: a string without quotes, any other value as JSON; "" if absent.
std::string word(const nlohmann::json& record, const char* key);

}  // namespace evenkeel::report
