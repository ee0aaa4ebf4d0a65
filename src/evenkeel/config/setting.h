// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

namespace evenkeel::config {

/// One `--set KEY=VALUE`, for example `train.steps=2_000`.
struct Setting {
  std::vector<std::string> path;  // {"train", "steps"}
  toml::table value;              // the value under the key "value"
};

/// Parses a `--set`. The value is TOML. Other text is a string without quotes, as `a.txt`, `100Mt`
/// or `5%`, unless it begins like a TOML string, list or table.
/// \throws Error (usage): "--set KEY: a value is missing; ..."
Setting parse_setting(const std::string& setting);

/// Puts the value of `setting` into `tree`; absent tables of its path are created.
/// \throws Error (usage) if a part of the path is a value instead of a table
void apply(Setting setting, toml::table& tree);

}  // namespace evenkeel::config
