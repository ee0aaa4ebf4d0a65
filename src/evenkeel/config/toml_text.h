// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

/// TOML as text in one line: for run.toml, and for the messages that show what was found.
namespace evenkeel::config {

/// A basic string with its quotes; control characters, quotes and backslashes escaped.
std::string in_quotes(std::string_view text);

/// A key as it may stand in a file: bare if it can be, else quoted.
std::string key_text(std::string_view key);

/// The value of a node in one line: numbers in their shortest exact form, tables and lists inline.
std::string toml_text(const toml::node& node);

}  // namespace evenkeel::config
