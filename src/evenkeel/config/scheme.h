// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <toml++/toml.h>

#include "evenkeel/norm/scheme.h"

/// Schemes from TOML: catalogue files, files of the user, inline tables.
namespace evenkeel::config {

/// The names of the embedded catalogue, sorted.
std::vector<std::string> catalogue();

/// The embedded file of a catalogue scheme, as it stands in schemes/.
/// \throws Error (usage) with the nearest name
std::string_view catalogue_source(const std::string& name);

/// A scheme as it was named, `extends` followed and merged; not yet bound to a shape.
struct SchemeSource {
  std::string name;    // catalogue name, or the file's stem, or "inline"
  toml::table merged;  // complete: no `extends` left
};

/// What `scheme = ...` says: a catalogue name, the path of a .toml file, or a table. A name is looked
/// for as given; `extends` first beside the file, then in ./schemes, then in the catalogue.
/// \throws SchemeError, Error (usage)
SchemeSource find_scheme(const std::string& name_or_file);
SchemeSource inline_scheme(const toml::table& table, const std::filesystem::path& beside);

/// Binds a scheme to a shape: patches applied, norms completed, every key known, validated.
/// \throws SchemeError
norm::Scheme bind(const SchemeSource& source, const norm::Shape& shape);

}  // namespace evenkeel::config
