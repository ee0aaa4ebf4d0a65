// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Strings and keys as TOML text.
namespace evenkeel::config {

/// A TOML basic string with quotes. Control characters, quotes and backslashes are escaped.
std::string in_quotes(std::string_view text);

/// A TOML key: bare if TOML permits it, else quoted.
std::string key_text(std::string_view key);

}  // namespace evenkeel::config
