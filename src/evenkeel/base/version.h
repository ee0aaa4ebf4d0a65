// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The version of the program, as CMakeLists.txt states it.
inline constexpr const char* kVersion = EK_VERSION;

/// The commit the program was built from, "-dirty" if files had changed; "unknown" outside git.
std::string commit();

}  // namespace evenkeel
