// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The version of the program, from CMakeLists.txt.
inline constexpr const char* kVersion = EK_VERSION;

/// The git commit of the build, with "-dirty" if files had changed; "unknown" outside of git.
std::string commit();

}  // namespace evenkeel
