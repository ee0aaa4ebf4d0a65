// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel {

/// The id of this start of the kernel, a UUID: another one on each machine and after each reboot.
/// \return empty if the system does not say
std::string boot_id();

}  // namespace evenkeel
