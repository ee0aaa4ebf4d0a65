// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/json_lines.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/nearest.h"

namespace evenkeel::data {

namespace {

using nlohmann::json;

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
    auto found = string_in(parse_json(line, where), key, where);
    if (!found.empty()) texts.push_back(std::move(found));
  }
  return texts;
}

}  // namespace evenkeel::data
