// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/config/table_reader.h"

/// The one list of all keys: reading, writing and comparing configurations go through it.
namespace evenkeel::config {

struct Key {
  std::string_view name;  // "steps"
  /// Takes the key's value from its table; leaves the default if the table has none.
  std::function<void(Config&, TableReader&)> read;
  /// The value as TOML; empty if it is not written (`tokens`, where `steps` decides).
  std::function<std::string(const Config&)> write;
};

struct Section {
  std::string_view name;     // "train"; empty for keys at the top
  std::string_view comment;  // what run.toml says above it
  std::vector<Key> keys;
};

/// "train.steps"; "seed" at the top.
std::string full_name(const Section& section, const Key& key);

/// All sections in the order of run.toml. `preset` and `scheme`, which choose other files, are not
/// among the keys.
const std::vector<Section>& sections();

}  // namespace evenkeel::config
