// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::config {

/// One `--set KEY=VALUE`, such as `train.steps=2_000`.
struct Setting {
  std::vector<std::string> path;  // the key: {"train", "steps"}
  toml::table value;              // the value, under the key "value"
};

/// The key of a `--set KEY=VALUE`: the text before the first '='; all of a text without one.
std::string_view key_of_setting(std::string_view setting);

/// Parses a `--set`. The value is TOML. Text that is not TOML is an unquoted string, such as
/// `a.txt`, `100Mt` or `5%`, unless it begins like a TOML string, list or table.
/// \throws Error (usage, exit code 64): "--set KEY: a value is missing; ..."
Setting parse_setting(const std::string& setting);

/// Inserts the value into `tree`; missing tables of the path are created.
/// \throws Error (usage, exit code 64) if a part of the path is not a table
void apply(Setting setting, toml::table& tree);

}  // namespace evenkeel::config
