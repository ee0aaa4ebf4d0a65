// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel::config {

/// A scheme file to begin with: it extends `parent`, shows what that says, and holds an example of
/// every word of docs/schemes.md in a comment.
/// \param file    where it will stand; its stem is the scheme's name
/// \param parent  as `extends` takes it: a name, or the path of a .toml file
/// \throws SchemeError for a parent that is not there or is not sound
std::string scheme_template(const std::filesystem::path& file, const std::string& parent);

}  // namespace evenkeel::config
