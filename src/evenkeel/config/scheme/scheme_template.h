// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel::config {

/// The text of a new scheme file: it extends `parent`, shows the inherited rules, and has an
/// example of every key and word of docs/schemes.md in a comment.
/// \param file    the path of the new file; its stem is the scheme's name
/// \param parent  as of `extends`: a catalogue name, or the path of a .toml file
/// \throws SchemeError for an absent or invalid parent
std::string scheme_template(const std::filesystem::path& file, const std::string& parent);

}  // namespace evenkeel::config
