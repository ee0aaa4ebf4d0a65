// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel::study {

/// A warning if the disk of a folder has less free space than each checkpoint requires; "" if it
/// has enough. A run that ends then waits for space, and cannot even write that into its log.
std::string low_disk_warning(const std::filesystem::path& folder);

/// The last line of a run's log if it says that the run waits for space; else "".
/// \throws Error (io, exit code 74) if the log cannot be read
std::string waiting_line(const std::filesystem::path& log);

}  // namespace evenkeel::study
