// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel::config {

/// The text of a new scheme file. It extends `parent`, shows the inherited rules as comments, and
/// has a commented example of every key and word of docs/schemes.md.
/// \param file    path of the new file; its stem is the scheme's name
/// \param parent  value of `extends`: a catalogue name, or the path of a .toml file
/// \throws SchemeError if the parent is missing or invalid
std::string scheme_template(const std::filesystem::path& file, const std::string& parent);

}  // namespace evenkeel::config
