// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/json_field.h"

#include <cmath>
#include <limits>

namespace evenkeel::report {

double number_of(const nlohmann::json& value) {
  constexpr double kLargest = 1e150, kSmallest = 1e-150;
  if (!value.is_number()) return std::numeric_limits<double>::quiet_NaN();
  const auto number = value.get<double>();
  if (!(std::abs(number) <= kLargest)) return std::numeric_limits<double>::quiet_NaN();
  return std::abs(number) < kSmallest ? 0 : number;
}

double step_of(const nlohmann::json& record, const char* key) {
  constexpr double kLargest = 9007199254740992;  // 2^53: whole numbers are exact up to here
  const double step = number(record, key);
  return std::abs(step) <= kLargest ? step : std::numeric_limits<double>::quiet_NaN();
}

double number(const nlohmann::json& record, const char* key) {
  const auto found = record.find(key);
  return number_of(found == record.end() ? nlohmann::json() : *found);
}

double number(const nlohmann::json& record, const nlohmann::json::json_pointer& path) {
  return number_of(record.contains(path) ? record.at(path) : nlohmann::json());
}

std::string word(const nlohmann::json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace evenkeel::report
