// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/json_field.h"

#include <limits>

namespace evenkeel::report {

namespace {

/// The number that a JSON value is; NaN for any other type.
double number_or_nan(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double number(const nlohmann::json& record, const char* key) {
  const auto found = record.find(key);
  return number_or_nan(found == record.end() ? nlohmann::json() : *found);
}

double number(const nlohmann::json& record, const nlohmann::json::json_pointer& path) {
  return number_or_nan(record.contains(path) ? record.at(path) : nlohmann::json());
}

std::string word(const nlohmann::json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace evenkeel::report
