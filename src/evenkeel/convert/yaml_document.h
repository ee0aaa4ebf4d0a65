// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// YAML files by libyaml, whose events let us limit depth and number of nodes before they are
/// stored.
namespace evenkeel::convert {

/// One key of a YAML file with a value that is not a table.
struct YamlEntry {
  std::string key;               // dotted: "model.d_model"
  std::size_t line = 0;          // from 1; 0: not from a file
  nlohmann::ordered_json value;  // a scalar or a list; an empty table is an empty object
};

/// The nodes that a file may have.
inline constexpr std::size_t kMaxYamlNodes = 100'000;

/// The entries of a YAML document whose root is a table, in their order. Plain scalars have the
/// types of YAML 1.1 as OmegaConf reads them: 1e12 and 1e-5 are numbers, yes and on are booleans.
/// Whole numbers are int64 and others float64.
/// \param name  of the file, for messages
/// \throws Error (data, exit code 65) with the line: not YAML, several documents, a key twice, an
///         alias, a tag, nested deeper than kMaxDepth, more nodes than kMaxYamlNodes
std::vector<YamlEntry> parse_yaml(std::string_view yaml, const std::string& name);

/// One YAML value, such as 0.1, [1, 2] or text: the value of an argument.
/// \throws as parse_yaml()
nlohmann::ordered_json parse_yaml_value(std::string_view yaml, const std::string& name);

}  // namespace evenkeel::convert
