// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::report {

/// Dotted keys and their values as text, in the order of the file: {"model.layers", "4"}. Numbers
/// have the shortest form that reads back to the same value.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// The keys of a TOML file. Arrays are values: "[0.9, 0.95]".
/// \throws Error (data) with the line number if the text is no TOML
KeyValues flattened_toml(const std::string& content);

/// The keys of a JSON object. Arrays are values.
/// \throws Error (data) if the text is no JSON object
KeyValues flattened_json(const std::string& content);

/// The value of a key; "" if there is none.
std::string value_of(const KeyValues& entries, const std::string& key);

/// A key whose value differs between files, with one value per file; "–" if the key is absent.
struct Difference {
  std::string key;
  std::vector<std::string> values;
};

/// The keys whose values differ between the files, in order of first occurrence.
std::vector<Difference> differences(const std::vector<KeyValues>& all);

}  // namespace evenkeel::report
