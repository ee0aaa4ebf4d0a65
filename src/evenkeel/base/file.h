// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace evenkeel {

/// The whole file.
/// \throws Error (Exit::io) that names the file and the reason
std::string read_file(const std::filesystem::path& path);

/// Replaces the file by `content` in one step: written beside it, flushed, renamed. Of a link the
/// file at its end is replaced; into a device or a pipe the content is written.
/// \throws Error (Exit::io) that names the file and the reason; the old file is then intact
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace evenkeel
