// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "evenkeel/store/directory.h"

namespace evenkeel::store {

/// The folder of a run with the files of an imported model that only other programs read.
inline constexpr const char* kImportedName = "imported";

/// Copies RUN/imported of another run. No effect if that run has none.
/// \throws Error (io, exit code 74), also for a symbolic link
void copy_imported_files(const std::filesystem::path& from, const Directory& run);

}  // namespace evenkeel::store
