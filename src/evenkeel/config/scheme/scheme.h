// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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
  std::string name;    // catalogue name, the file's stem, or what inline_scheme() says
  toml::table merged;  // complete: no `extends` left
};

/// What `scheme = ...` says: a catalogue name, the path of a .toml file, or a table. `extends`
/// looks for a name first in the file's folder, then in ./schemes, then in the catalogue; a
/// catalogue scheme for its parent in the catalogue only.
/// \throws SchemeError, Error (usage)
SchemeSource find_scheme(const std::string& name_or_file);

/// A table may change its parent's norms, and so their parameters, without a formula of its own:
/// the parent's `norm_parameters` is then forgotten. So { extends = "keel", norm = "layer_norm" }
/// works. It is named "keel+layer_norm" and keeps title and equations of the parent, since the
/// places are the same; a table that changes more is named "keel+own", one without a parent
/// "inline".
SchemeSource inline_scheme(const toml::table& table, const std::filesystem::path& base_folder);

/// What a scheme says of itself (title, family, source, equations, ...), which needs no shape.
/// \throws SchemeError
norm::SchemeInfo scheme_info(const SchemeSource& source);

/// Binds a scheme to a shape: patches applied, norms completed, every key known, validated.
/// \throws SchemeError
norm::Scheme bind(const SchemeSource& source, const norm::Shape& shape);

}  // namespace evenkeel::config
