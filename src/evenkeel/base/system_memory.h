// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel {

/// Memory that this process can still take, in bytes: MemAvailable of /proc/meminfo, and what the
/// limits of its control group leave; 0 if unknown.
double available_bytes();

/// What the memory limits of a control group and its ancestors leave, in bytes; infinity without a
/// limit. Version 2 (memory.max) and version 1 (memory.limit_in_bytes). Files in memory that can be
/// dropped do not count as used.
/// \param root   where control groups are mounted
/// \param group  the content of /proc/self/cgroup
double control_group_bytes(const std::filesystem::path& root, const std::string& group);

/// Installed memory plus swap space of this machine in bytes; 0 if unknown.
double total_bytes();

}  // namespace evenkeel
