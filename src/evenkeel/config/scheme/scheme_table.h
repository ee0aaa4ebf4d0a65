// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>

#include "evenkeel/config/scheme/scheme.h"

/// The TOML of a SchemeSource. Only sources that handle TOML include this header.
namespace evenkeel::config {

struct SchemeTable {
  toml::table merged;  // complete: no `extends` left
};

/// The merged table of a scheme.
const toml::table& table_of(const SchemeSource& source);

/// A scheme of this name and merged table.
SchemeSource make_source(const std::string& name, toml::table merged);

/// As inline_scheme() of a text; nodes of the table keep their file and line for messages.
SchemeSource inline_scheme(const toml::table& table, const std::filesystem::path& base_folder);

}  // namespace evenkeel::config
