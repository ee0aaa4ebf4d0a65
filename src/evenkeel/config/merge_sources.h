// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>

#include "evenkeel/config/config.h"

/// Preset, files, --scheme and --set, merged as TOML before any key is read. This header includes
/// toml++.
namespace evenkeel::config {

/// All sources as one TOML tree.
struct MergedSources {
  toml::table tree;          // each node remembers where it was written
  std::string preset;        // the name of the first source
  bool states_tied = false;  // a later source than the preset states model.tied
};

/// Merges the sources, later over earlier. Tables merge key by key; `scheme` is replaced whole. Of
/// train.steps and train.tokens the one of the last source stays. A schedule.kind drops the keys of
/// earlier sources that it does not read.
/// \throws Error (usage): unreadable TOML or --set, unknown preset, steps and tokens in one source;
///         Error (io): an unreadable file
MergedSources merge_sources(const Sources& sources);

/// merge_sources() of one TOML text in place of files.
/// \param name  of the text, for messages
MergedSources merge_text(const std::string& toml, const std::string& name);

}  // namespace evenkeel::config
