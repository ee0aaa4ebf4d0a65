// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>

#include "evenkeel/config/config.h"

/// Merges preset, files, --scheme and --set as TOML, before any key is read. This header includes
/// toml++.
namespace evenkeel::config {

/// The merged TOML tree of all sources.
struct MergedSources {
  toml::table tree;          // each node has its source position
  std::string preset;        // name of the preset
  bool states_tied = false;  // a source other than the preset sets model.tied
};

/// Merges the sources; later ones override earlier ones. Tables merge key by key; `scheme` is
/// replaced as a whole. Two special cases: the last source with train.steps or train.tokens removes
/// the other one of these keys, and a new schedule.kind removes earlier keys that this kind does
/// not read.
/// \throws Error (usage, exit code 64) for invalid TOML or --set, an unknown preset, or steps and
///         tokens in one source; Error (io, 74) if a file cannot be read
MergedSources merge_sources(const Sources& sources);

/// The same as merge_sources(), for one TOML text instead of files.
/// \param name  name of the text, for messages
MergedSources merge_text(const std::string& toml, const std::string& name);

}  // namespace evenkeel::config
