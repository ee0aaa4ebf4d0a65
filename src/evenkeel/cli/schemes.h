// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evenkeel/cli/verb.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/scheme.h"

/// The subcommands of `evenkeel schemes`, one file each.
namespace evenkeel::cli {

/// A scheme bound to the shape of a model.
struct BoundScheme {
  std::string preset;          // of the model's sizes
  norm::Scheme scheme;         // with the values of every block
  nn::ParameterCounts counts;  // of the model's parameters
};

/// The scheme that the configuration names, in the model that it describes.
/// \throws SchemeError, Error (usage)
BoundScheme bound_scheme(const CommonOptions& common);

/// "preset tiny: 4 layers, width 128, 4 heads"
std::string model_summary(const BoundScheme& bound);

/// --preset, --config, --set: the model that a scheme is shown in.
void add_model_options(const Command& command, CommonOptions& common);

/// Prints a line "name          value", the name padded to `width` behind `indent` spaces; nothing
/// where the value is empty.
void print_field(const char* name, const std::string& value, int width, int indent = 0);

/// A scheme of the catalogue as the list shows it.
struct CatalogueEntry {
  norm::SchemeInfo info;
  std::vector<std::string> kinds;  // of its norms: "rms_norm"
  std::string norm_parameters;     // a formula in N, d and dk
};

/// The whole catalogue, sorted by name.
std::vector<CatalogueEntry> catalogue_entries();

/// The generated part of docs/schemes.md, as Markdown: a table a family.
std::string catalogue_page(const std::vector<CatalogueEntry>& catalogue);

/// Each adds a subcommand. \param common  of the verb itself: it may hold --json already
Verb add_schemes_show(const Command& schemes, const std::shared_ptr<CommonOptions>& common);
Verb add_schemes_diff(const Command& schemes, const std::shared_ptr<CommonOptions>& common);
Verb add_schemes_check(const Command& schemes, const std::shared_ptr<CommonOptions>& common);
Verb add_schemes_new(const Command& schemes);

}  // namespace evenkeel::cli
