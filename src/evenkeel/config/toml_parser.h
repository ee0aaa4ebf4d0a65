// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <string_view>

/// Parsing of TOML texts. This header includes toml++.
namespace evenkeel::config {

/// A parsed TOML text, or the reason why it is refused.
struct ParsedToml {
  toml::table table;
  std::string defect;     // "not TOML: ..."; empty: none
  std::int64_t line = 1;  // of the defect
};

/// Parses a TOML text. A text that is nested deeper than kMaxDepth (base/json_parser.h) has a
/// defect. No other code calls the parser of toml++ (tools/check_floors.py).
/// \param source  file or option; every node stores it with its line; empty: no source positions
ParsedToml read_toml(std::string_view toml, const std::string& source);

/// read_toml() for a text without a defect.
/// \throws Error (usage, exit code 64): "mine.toml:3: not TOML: ..."
toml::table parse_toml(std::string_view toml, const std::string& source);

/// The prefix of a message: "mine.toml:3: " of a file, "--set train.steps=5: " of an option.
std::string position_text(const std::string& source, std::int64_t line);

}  // namespace evenkeel::config
