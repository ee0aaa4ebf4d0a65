// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace evenkeel {

/// Size limits of read_file() in bytes: of a configuration, scheme, study or status; and of a file
/// that grows with a run.
inline constexpr std::uint64_t kMaxTextBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{4} << 30;

/// Opens a regular file for reading. Never waits: a pipe, a device, a socket or a folder is
/// refused.
/// \return a file descriptor with close-on-exec, which the caller closes
/// \throws Error (io, exit code 74): "x: must be a regular file, but is a pipe"
int open_input(const std::filesystem::path& path);

/// open_input() for the entry `name` of an open folder. A symbolic link is an error.
/// \param path  of the entry, for messages
int open_input(int folder, const std::string& name, const std::filesystem::path& path);

/// \throws Error (io, exit code 74): "x: must have at most 16 bytes, but has 20; name a smaller
/// file"
[[noreturn]] void throw_too_large(const std::filesystem::path& path, std::uint64_t max_bytes,
                                  const std::string& found);

/// The complete content of a regular file.
/// \throws Error (io, exit code 74), with the path and the reason; also for a file of more than
///         `max_bytes`
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxTextBytes);

/// Lets a pipe that a shell opened be read more than once, also by child processes: reads the pipe
/// to its end, and puts a file with this content in its place. No effect on any other path, such as
/// a named pipe.
/// \param path  "/dev/fd/63", as `--config <(command)` gives it, "/proc/self/fd/63" or "/dev/stdin"
/// \param limit  of the time until the end of the pipe
/// \throws Error (io, exit code 74): the pipe has not ended in time; nothing arrives, as from a
///         command that failed; or more than `max_bytes`
void keep_pipe(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxTextBytes,
               std::chrono::milliseconds limit = std::chrono::minutes(1));

/// Replaces a file that the user named, atomically: temporary file in the same folder, fsync,
/// rename. Follows symbolic links. A device or a pipe is written in place. Files of run folders and
/// study folders are written by store::Directory, which follows no link.
/// \throws Error (io, exit code 74), with the path and the reason; the old file is then intact
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace evenkeel
