// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/config.h"

/// The list of all configuration keys, by section. Reading, writing and comparing configurations
/// and every list of keys in messages use it: a new key is a field in config.h, a line in keys.cpp
/// and a row in docs/configuration.md.
namespace evenkeel::config {

class TableReader;

/// One key of a section.
struct Key {
  std::string_view name;  // "steps"
  /// Reads the key from its table into the configuration; an absent key changes nothing.
  /// Throws Error (usage) for a wrong type or a value out of range.
  std::function<void(Config&, TableReader&)> read;
  /// The value as TOML; empty if the key is not written (`tokens`, where `steps` decides).
  std::function<std::string(const Config&)> write;
};

/// The keys of one TOML table.
struct Section {
  std::string_view name;     // "train"; empty for keys at the top
  std::string_view comment;  // the line above the table in run.toml
  std::vector<Key> keys;
};

/// "train.steps"; "seed" at the top.
std::string full_name(const Section& section, const Key& key);

/// All sections in the order of run.toml. The keys `preset` and `scheme` choose other files and are
/// not in the list.
const std::vector<Section>& sections();

}  // namespace evenkeel::config
