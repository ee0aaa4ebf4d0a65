// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/flattened.h"

#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/toml_parser.h"

namespace evenkeel::report {

namespace {

using Json = nlohmann::ordered_json;

/// "model" and "layers" as "model.layers".
std::string joined(const std::string& prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : prefix + "." + std::string(key);
}

/// A value in the shortest form: 0.95, not 0.94999999999999996.
std::string flattened_value_text(const toml::node& node) {
  if (const auto* word = node.as_string()) return word->get();
  if (const auto* number = node.as_floating_point()) return shortest(number->get());
  if (const auto* array = node.as_array()) {
    std::string items;
    for (const auto& item : *array)
      items += (items.empty() ? "" : ", ") + flattened_value_text(item);
    return "[" + items + "]";
  }
  std::ostringstream other;
  node.visit([&](const auto& known) { other << known; });
  return other.str();
}

/// Appends all keys below a table, with the prefix.
void flatten(const std::string& prefix, const toml::table& table, KeyValues& out) {
  for (const auto& [key, node] : table) {
    const auto name = joined(prefix, key.str());
    if (const auto* inner = node.as_table()) {
      flatten(name, *inner, out);
    } else {
      out.emplace_back(name, flattened_value_text(node));
    }
  }
}

/// Appends all keys below an object, with the prefix.
void flatten(const std::string& prefix, const Json& object, KeyValues& out) {
  for (const auto& [key, value] : object.items()) {
    const auto name = joined(prefix, key);
    if (value.is_object() && !value.empty()) {
      flatten(name, value, out);
    } else {
      out.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

}  // namespace

KeyValues flattened_toml(const std::string& content) {
  const auto parsed = config::read_toml(content, "");
  if (!parsed.defect.empty()) {
    throw Error(Exit::data, text("line ", parsed.line, ": ", parsed.defect));
  }
  KeyValues out;
  flatten("", parsed.table, out);
  return out;
}

KeyValues flattened_json(const std::string& content) {
  const auto object = parse_ordered_json(content);
  if (!object.is_object()) throw Error(Exit::data, "wanted a JSON object");
  KeyValues out;
  flatten("", object, out);
  return out;
}

std::string value_of(const KeyValues& entries, const std::string& key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return found == entries.end() ? "" : found->second;
}

std::vector<Difference> differences(const std::vector<KeyValues>& all) {
  std::vector<Difference> rows;
  for (std::size_t file = 0; file < all.size(); ++file) {
    for (const auto& [key, value] : all[file]) {
      auto row = std::find_if(rows.begin(), rows.end(),
                              [&, name = key](const auto& known) { return known.key == name; });
      if (row == rows.end()) {
        row = rows.insert(rows.end(), {key, std::vector<std::string>(all.size(), "–")});
      }
      row->values[file] = value;
    }
  }
  std::erase_if(rows, [](const Difference& row) {
    return std::all_of(row.values.begin(), row.values.end(),
                       [&](const auto& value) { return value == row.values.front(); });
  });
  return rows;
}

}  // namespace evenkeel::report
