// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/verify/golden_json.h"

#include <utility>

#include "evenkeel/base/json_parser.h"

namespace evenkeel::verify {

using nlohmann::json;

GoldenJson::GoldenJson(const std::string& where, const std::string& text)
    : GoldenJson(where, "", parse_json(text)) {
  if (!object_.is_object()) refuse("must be a JSON object, but is not");
}

GoldenJson::GoldenJson(std::string where, std::string prefix, json object)
    : where_(std::move(where)), prefix_(std::move(prefix)), object_(std::move(object)) {}

double GoldenJson::number(const std::string& key) const {
  return value(key, "a number", &json::is_number).get<double>();
}

std::int64_t GoldenJson::integer(const std::string& key) const {
  return value(key, "a whole number", &json::is_number_integer).get<std::int64_t>();
}

bool GoldenJson::flag(const std::string& key) const {
  return value(key, "true or false", &json::is_boolean).get<bool>();
}

std::string GoldenJson::string(const std::string& key) const {
  return value(key, "a text", &json::is_string).get<std::string>();
}

GoldenJson GoldenJson::at(const std::string& key) const {
  return {where_, prefix_ + key + ".", value(key, "an object", &json::is_object)};
}

std::vector<GoldenJson> GoldenJson::list(const std::string& key) const {
  std::vector<GoldenJson> list;
  for (const auto& each : value(key, "a list", &json::is_array)) {
    const auto place = text(prefix_, key, "[", list.size(), "]");
    if (!each.is_object()) refuse(text("wants \"", place, "\", an object, but has ", each.dump()));
    list.push_back(GoldenJson(where_, place + ".", each));
  }
  return list;
}

std::vector<double> GoldenJson::numbers(const std::string& key) const {
  std::vector<double> numbers;
  for (const auto& each : value(key, "a list of numbers", &json::is_array)) {
    if (!each.is_number()) {
      refuse(text("wants \"", prefix_, key, "\", a list of numbers, but one is ", each.dump()));
    }
    numbers.push_back(each.get<double>());
  }
  return numbers;
}

std::vector<std::string> GoldenJson::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : object_.items()) keys.push_back(key);
  return keys;
}

void GoldenJson::refuse(const std::string& defect, Exit exit) const {
  throw Error(exit, text(where_, ": ", defect));
}

const json& GoldenJson::value(const std::string& key, const char* type,
                              bool (json::*is)() const noexcept) const {
  const auto found = object_.find(key);
  if (found != object_.end() && ((*found).*is)()) return *found;
  refuse(text("wants \"", prefix_, key, "\", ", type, ", but has ",
              found == object_.end() ? "none" : found->dump()));
}

}  // namespace evenkeel::verify
