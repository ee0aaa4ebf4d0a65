// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace evenkeel {

/// The content of a file, all bytes.
/// \throws Error (Exit::io) that names the file and the reason
std::string read_file(const std::filesystem::path& path);

/// Replaces the file by `content` atomically: a temporary file in the same folder, fsync, rename.
/// Of a symbolic link the target is replaced. A device or a pipe is written in place.
/// \throws Error (Exit::io) that names the file and the reason; the old file is then intact
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace evenkeel
