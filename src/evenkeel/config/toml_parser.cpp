// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/toml_parser.h"

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/config/toml_depth.h"

namespace evenkeel::config {

namespace {

/// A message of toml++ in one line: line ends become spaces.
std::string one_line(std::string_view description) {
  std::string out(description);
  std::replace_if(
      out.begin(), out.end(), [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
  return out;
}

}  // namespace

ParsedToml read_toml(std::string_view toml, const std::string& source) {
  if (const auto line = first_line_deeper_than(kMaxDepth, toml)) {
    return {{},
            text("tables, lists and dotted keys must be nested at most ", kMaxDepth,
                 " deep, but are deeper"),
            *line};
  }
  try {
    return {toml::parse(toml, source), "", 1};
  } catch (const toml::parse_error& error) {
    return {{}, "not TOML: " + one_line(error.description()), error.source().begin.line};
  }
}

toml::table parse_toml(std::string_view toml, const std::string& source) {
  auto parsed = read_toml(toml, source);
  if (parsed.defect.empty()) return std::move(parsed.table);
  throw Error(Exit::usage, position_text(source, parsed.line) + parsed.defect);
}

std::string position_text(const std::string& source, std::int64_t line) {
  if (source.starts_with("--")) return source + ": ";
  return text(source, ":", line, ": ");
}

}  // namespace evenkeel::config
