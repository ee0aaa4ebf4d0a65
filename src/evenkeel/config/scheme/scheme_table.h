// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <string>

#include "evenkeel/config/scheme/scheme.h"

/// The TOML table of a SchemeSource. This header includes toml++, so few sources include it.
namespace evenkeel::config {

struct SchemeTable {
  toml::table merged;  // merged with all parents, without `extends`
};

/// The merged table of a scheme.
const toml::table& table_of(const SchemeSource& source);

/// A SchemeSource with this name and merged table.
SchemeSource make_source(const std::string& name, toml::table merged);

/// The same as inline_scheme() of a text. The nodes of `table` keep their source positions for
/// messages.
SchemeSource inline_scheme(const toml::table& table, const std::filesystem::path& base_folder);

}  // namespace evenkeel::config
