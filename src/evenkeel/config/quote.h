// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Strings and keys as TOML text.
namespace evenkeel::config {

/// A TOML basic string with its quotes: control characters, quotes and backslashes are escaped.
std::string in_quotes(std::string_view text);

/// A key as TOML: bare where TOML allows it, else in quotes.
std::string key_text(std::string_view key);

}  // namespace evenkeel::config
