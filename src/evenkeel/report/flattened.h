// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::report {

/// Dotted keys and their values as text, in the order of the file: {"model.layers", "4"}.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// The keys of a TOML file. Arrays are values: "[0.9, 0.95]".
/// \throws Error (data) that says where the text is no TOML
KeyValues flattened_toml(const std::string& content);

/// The keys of a JSON object. Arrays are values.
/// \throws Error (data) if the text is no JSON object
KeyValues flattened_json(const std::string& content);

/// The value of a key; "" if there is none.
std::string value_of(const KeyValues& entries, const std::string& key);

/// A key that is not the same everywhere, with its value in each; "–" where it is absent.
struct Difference {
  std::string key;
  std::vector<std::string> values;
};

/// The keys whose values differ, in the order in which the files name them.
std::vector<Difference> differences(const std::vector<KeyValues>& all);

}  // namespace evenkeel::report
