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

/// Takes a `--set` apart. The value is TOML; what is no TOML and does not begin like a string, a
/// list or a table is a string as it stands: `a.txt`, `builtin:sentences`, `100Mt`, `5%`.
/// \throws Error (usage)
Setting parse_setting(const std::string& setting);

/// Puts the value of `setting` into `tree`, which then also holds the tables of its path.
/// \throws Error (usage) if something on the way is no table
void apply(Setting setting, toml::table& tree);

}  // namespace evenkeel::config
