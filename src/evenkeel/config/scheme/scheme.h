// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/scheme.h"

/// Schemes as TOML: catalogue files, user files, inline tables.
namespace evenkeel::config {

/// The names of all catalogue schemes, sorted.
std::vector<std::string> catalogue();

/// A name that the catalogue does not have; exit code 64 (usage).
class UnknownScheme : public Error {
 public:
  /// The message has the nearest name.
  explicit UnknownScheme(const std::string& name);
};

/// The text of a catalogue scheme's file.
/// \throws UnknownScheme
std::string_view catalogue_source(const std::string& name);

struct SchemeTable;  // scheme_table.h, which includes toml++

/// A named scheme as TOML: merged with its parents, not yet bound to a shape. Copies share the
/// table.
struct SchemeSource {
  std::string name;  // catalogue name, stem of the file, or a name by inline_scheme()
  std::shared_ptr<const SchemeTable> table;  // without `extends`; nullptr: an empty table
};

/// The scheme with a catalogue name or in a .toml file. The `extends` of a file is searched in the
/// file's folder, then in ./schemes, then in the catalogue; that of a catalogue scheme only in the
/// catalogue. Names of families of models are taken, too: "llama" is pre_norm, "qwen3" pre_qk.
/// \throws SchemeError; Error (usage, exit code 64) if the file is not TOML; Error (io, 74) if it
///         cannot be read
SchemeSource find_scheme(const std::string& name_or_file);

/// The catalogue's scheme of a family of models: "pre_norm" for "llama"; other names are returned
/// as they are. Only the norms are those of the models.
std::string scheme_of_model(const std::string& name);

/// The scheme of a TOML text that is not in a file, such as the inline table `scheme = { ... }`.
///
///   | text                                     | name of the scheme  |
///   | ---------------------------------------- | ------------------- |
///   | { extends = "keel", norm = "layer_norm" } | "keel+layer_norm"   |
///   | extends keel, with other changes         | "keel+own"          |
///   | without `extends`                        | "inline"            |
///
/// A change of norms only keeps the title and the equations of the parent, because the places are
/// the same. The parent's `norm_parameters` is dropped if the text has none of its own.
/// \param base_folder  the first folder to search for `extends`
/// \throws as find_scheme() does
SchemeSource inline_scheme(std::string_view toml, const std::filesystem::path& base_folder);

/// Whether the catalogue has this scheme under this name, with equal keys and values.
bool is_of_catalogue(const SchemeSource& scheme);

/// The merged table of a scheme in one line of TOML. Two schemes are equal if their texts are
/// equal.
std::string scheme_text(const SchemeSource& source);

/// The merged table of a scheme as a scheme file that needs no other: one line for each key.
std::string scheme_toml(const SchemeSource& source);

/// The entries of a scheme that need no shape: title, family, source, equations, ...
/// \throws SchemeError
norm::SchemeInfo scheme_info(const SchemeSource& source);

/// Binds a scheme to a shape: reads all keys, applies the patches of `layers`, fills in the
/// defaults of norms, and validates the result.
/// \throws SchemeError with the code of the broken rule, file, line and key
norm::Scheme bind(const SchemeSource& source, const norm::Shape& shape);

}  // namespace evenkeel::config
