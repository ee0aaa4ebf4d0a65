// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "evenkeel/config/config.h"

namespace evenkeel::study {

/// Free bytes of the disk of a folder, or of its nearest parent that exists; -1: unknown.
std::int64_t free_disk_bytes(std::filesystem::path folder);

/// The number of checkpoints that a finished run of a study keeps: one with the default of
/// checkpoint.keep, whose second is a fallback for a run that goes on; else checkpoint.keep.
std::int64_t kept_checkpoints(const config::Config& config);

/// Removes all checkpoints of a finished run but the newest, unless another process has locked the
/// run.
/// \return the message of an I/O error, after which the checkpoints stay; else ""
std::string remove_older_checkpoints(const std::filesystem::path& run);

/// A warning if the disk of a folder has less free space than each checkpoint requires; "" if it
/// has enough. A run that ends then waits for space, and cannot even write that into its log.
std::string low_disk_warning(const std::filesystem::path& folder);

/// The last line of a run's log if it says that the run waits for space; else "".
/// \throws Error (io, exit code 74) if the log cannot be read
std::string waiting_line(const std::filesystem::path& log);

}  // namespace evenkeel::study
