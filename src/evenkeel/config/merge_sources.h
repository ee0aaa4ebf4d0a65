// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>

#include "evenkeel/config/config.h"

/// Preset, files, --scheme and --set, merged as TOML before any key is read.
namespace evenkeel::config {

struct MergedSources {
  toml::table tree;          // each node remembers where it was written
  std::string preset;        // the name of the first source
  bool states_tied = false;  // a later source than the preset states model.tied
};

/// Merges the sources, later over earlier: tables merge key by key, `scheme` is replaced whole, and
/// of train.steps and train.tokens the one of the last source stays; a schedule.kind drops from
/// earlier sources what it does not read.
/// \throws Error (usage): unreadable TOML or --set, unknown preset, steps and tokens in one source;
///         Error (io): an unreadable file
MergedSources merge_sources(const Sources& sources);

/// The same of one text in the place of files.
MergedSources merge_text(const std::string& toml, const std::string& name);

}  // namespace evenkeel::config
