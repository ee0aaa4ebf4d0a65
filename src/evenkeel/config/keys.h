// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/config/config.h"

/// The list of all configuration keys, by section. It is the only list for reading, writing and
/// comparing configurations, and for messages. A new key needs a field in config.h, a line in
/// keys.cpp and a row in docs/configuration.md.
namespace evenkeel::config {

class TableReader;

/// One key of a section.
struct Key {
  std::string_view name;  // "steps"
  /// Reads the key from its table. A missing key leaves the Config as it is. Throws Error (usage)
  /// for a wrong type or a value out of range.
  std::function<void(Config&, TableReader&)> read;
  /// The value as TOML; empty if the key is not written (`tokens`, if `steps` is set).
  std::function<std::string(const Config&)> write;
};

/// The keys of one TOML table.
struct Section {
  std::string_view name;     // "train"; empty for top-level keys
  std::string_view comment;  // the comment above the table in run.toml
  std::vector<Key> keys;
};

/// The dotted name: "train.steps"; "seed" for a top-level key.
std::string full_name(const Section& section, const Key& key);

/// All sections in the order of run.toml, without the top-level keys `preset` and `scheme`, which
/// select other files.
const std::vector<Section>& sections();

/// full_name() of all keys of sections(), in their order.
std::vector<std::string> key_names();

}  // namespace evenkeel::config
