// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace evenkeel {

/// The complete content of a file.
/// \throws Error (io, exit code 74), with the path and the reason
std::string read_file(const std::filesystem::path& path);

/// Replaces a file that the user named, atomically: temporary file in the same folder, fsync,
/// rename. Follows symbolic links. A device or a pipe is written in place. Files of run folders and
/// study folders are written by store::Directory, which follows no link.
/// \throws Error (io, exit code 74), with the path and the reason; the old file is then intact
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace evenkeel
