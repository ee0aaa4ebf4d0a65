// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The name of this machine; `unknown` if the system has none.
std::string host_name(const char* unknown = "localhost");

}  // namespace evenkeel
