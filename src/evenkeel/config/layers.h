// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>

#include "evenkeel/config/config.h"

/// Preset, files, --scheme and --set, laid over one another as TOML, before anything is read.
namespace evenkeel::config {

struct Layers {
  toml::table tree;          // each node remembers where it was written
  std::string preset;        // the name of the lowest layer
  bool states_tied = false;  // a layer above the preset says what model.tied is
};

/// Lays the sources over one another: tables merge key by key, `scheme` is replaced whole, and of
/// train.steps and train.tokens the one in the highest layer stays; a schedule.kind drops from
/// below what it does not read.
/// \throws Error (usage): unreadable TOML or --set, unknown preset, steps and tokens in one layer;
///         Error (io): an unreadable file
Layers lay(const Sources& sources);

/// The same of one text in the place of files.
Layers lay_text(const std::string& toml, const std::string& name);

}  // namespace evenkeel::config
