// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evenkeel/cli/verb.h"
#include "evenkeel/nn/parameter_specs.h"
#include "evenkeel/norm/scheme.h"

/// The subcommands of `evenkeel schemes`, one source file each.
namespace evenkeel::cli {

/// A scheme bound to the shape of a model.
struct BoundScheme {
  std::string preset;          // the preset of the model's sizes
  norm::Scheme scheme;         // bound: every layer has its values
  nn::ParameterCounts counts;  // parameters of the whole model
};

/// Binds the scheme of the configuration to the model of the configuration.
/// \throws SchemeError if the scheme is invalid; Error (usage) for an invalid configuration
BoundScheme bound_scheme(const CommonOptions& common);

/// "preset tiny: 4 layers, width 128, 4 heads"
std::string model_summary(const BoundScheme& bound);

/// --preset, --config, --set: the model that a scheme is shown in.
void add_model_options(const Command& command, CommonOptions& common);

/// Prints the line "name          value": `indent` spaces, then the name padded to `width`. Prints
/// nothing if the value is empty.
void print_field(const char* name, const std::string& value, int width, int indent = 0);

/// A row of the catalogue.
struct CatalogueEntry {
  norm::SchemeInfo info;
  std::vector<std::string> kinds;  // norm kinds: "rms_norm"
  std::string norm_parameters;     // their number as an expression in N, d and dk; may be ""
};

/// The whole catalogue, sorted by name.
std::vector<CatalogueEntry> catalogue_entries();

/// The generated part of docs/schemes.md, as Markdown: one table per family.
std::string catalogue_page(const std::vector<CatalogueEntry>& catalogue);

/// Each function adds one subcommand.
/// \param common  options of `schemes`, where --json may precede the subcommand
Verb add_schemes_show(const Command& schemes, const std::shared_ptr<CommonOptions>& common);
Verb add_schemes_diff(const Command& schemes, const std::shared_ptr<CommonOptions>& common);
Verb add_schemes_check(const Command& schemes, const std::shared_ptr<CommonOptions>& common);
Verb add_schemes_new(const Command& schemes);

}  // namespace evenkeel::cli
