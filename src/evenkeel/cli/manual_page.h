// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/cli/command.h"

namespace evenkeel::cli {

/// The manual page evenkeel(1) in the macros of man(7): the help of all commands, hidden ones
/// included.
std::string manual_page(const CommandInfo& program);

}  // namespace evenkeel::cli
