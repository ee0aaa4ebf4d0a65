// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_lines.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"

namespace evenkeel::data {

namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;

/// Parses one line.
/// \param where  "file:line", for messages
json parsed(std::string_view line, const std::string& where) {
  const auto within_depth = [&](int outside, json::parse_event_t event, const json&) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && outside >= kMaxDepth) {
      throw Error(Exit::data,
                  text(where, ": must be nested at most ", kMaxDepth, " deep, but is deeper"));
    }
    return true;
  };
  try {
    return json::parse(line.begin(), line.end(), within_depth);
  } catch (const json::parse_error& error) {
    throw Error(Exit::data, text(where, ": must be JSON, but is not at column ", error.byte));
  } catch (const json::out_of_range&) {
    throw Error(Exit::data, text(where,
                                 ": must be JSON whose numbers are finite in float64, but "
                                 "one is larger"));
  }
}

std::string string_in(const json& object, const std::string& key, const std::string& where) {
  if (!object.is_object()) {
    throw Error(Exit::data,
                text(where, ": must be an object, but is of type ", object.type_name()));
  }
  const auto found = object.find(key);
  if (found == object.end()) {
    std::vector<std::string> keys;
    for (const auto& [each, value] : object.items()) keys.push_back(each);
    throw Error(Exit::data, text(where, ": no key \"", key, "\"", did_you_mean(key, keys),
                                 "; set data.text_key"));
  }
  if (!found->is_string()) {
    throw Error(Exit::data, text(where, ": \"", key, "\" must be a string, but is of type ",
                                 found->type_name()));
  }
  return found->get<std::string>();
}

}  // namespace

std::vector<std::string> json_lines(std::string_view content, const std::string& key,
                                    const std::string& name) {
  std::vector<std::string> texts;
  for (int number = 1; !content.empty(); ++number) {
    const auto end = content.find('\n');
    const auto line = content.substr(0, end);
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto where = text(name, ":", number);
    auto found = string_in(parsed(line, where), key, where);
    if (!found.empty()) texts.push_back(std::move(found));
  }
  return texts;
}

}  // namespace evenkeel::data
