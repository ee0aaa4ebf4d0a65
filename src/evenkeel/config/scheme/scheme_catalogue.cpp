// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "evenkeel/base/nearest.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/config/synonyms.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

/// Generated from schemes/*.toml by cmake/Embed.cmake: {name, text}, sorted by name.
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_schemes();

std::vector<std::string> catalogue() {
  std::vector<std::string> names;
  for (const auto& [name, source] : embedded_schemes()) names.emplace_back(name);
  return names;
}

std::string_view catalogue_source(const std::string& name) {
  for (const auto& [each, source] : embedded_schemes()) {
    if (each == name) return source;
  }
  throw UnknownScheme(name);
}

UnknownScheme::UnknownScheme(const std::string& name)
    : Error(Exit::usage, text("the catalogue has no scheme \"", name,
                              "\"; a file is named by its path, which ends in .toml",
                              did_you_mean(scheme_of_synonym(name), catalogue(),
                                           "`evenkeel schemes` lists all"))) {}

}  // namespace evenkeel::config
