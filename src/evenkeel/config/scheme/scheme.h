// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// Schemes from TOML: catalogue files, files of the user, inline tables.
namespace evenkeel::config {

/// The names of the embedded catalogue, sorted.
std::vector<std::string> catalogue();

/// The text of a catalogue scheme's file in schemes/.
/// \throws Error (usage) with the nearest name
std::string_view catalogue_source(const std::string& name);

struct SchemeTable;  // scheme_table.h, which includes toml++

/// A scheme by name, with its parents merged; not yet bound to a shape. Copies share the table.
struct SchemeSource {
  std::string name;  // of the catalogue, the stem of the file, or a name by inline_scheme()
  std::shared_ptr<const SchemeTable> table;  // without `extends`; null is an empty table
};

/// The scheme of a catalogue name or of the path of a .toml file. A file's `extends` is looked up
/// first in the folder of the file, then in ./schemes, then in the catalogue; a catalogue scheme's
/// only in the catalogue.
/// \throws SchemeError; Error (usage) for text that is not TOML, Error (io) for an unreadable file
SchemeSource find_scheme(const std::string& name_or_file);

/// The scheme of a TOML text without a file, as of an inline table `scheme = { ... }`.
///
/// A text that extends a scheme may change norms without a formula of its own: the parent's
/// `norm_parameters` is then dropped. { extends = "keel", norm = "layer_norm" } is named
/// "keel+layer_norm" and keeps title and equations of keel, since the places are the same. A text
/// with more changes is named "keel+own", a text without a parent "inline".
/// \param base_folder  the first folder in which `extends` is looked up
/// \throws as find_scheme()
SchemeSource inline_scheme(std::string_view toml, const std::filesystem::path& base_folder);

/// The merged table of a scheme in one line of TOML: equal texts, equal schemes.
std::string scheme_text(const SchemeSource& source);

/// The title, family, source, equations and so on of a scheme, which need no shape.
/// \throws SchemeError
norm::SchemeInfo scheme_info(const SchemeSource& source);

/// Binds a scheme to a shape: reads every key, applies the patches of `layers`, completes norms
/// from defaults, and validates the result.
/// \throws SchemeError with the code of the broken rule, file, line and key
norm::Scheme bind(const SchemeSource& source, const norm::Shape& shape);

}  // namespace evenkeel::config
