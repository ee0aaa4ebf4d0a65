// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel {

/// Installs a handler for exceptions that nobody catches: thrown in a thread, or in a destructor,
/// where nlohmann::json allocates. In place of SIGABRT, the handler prints one line and ends the
/// process: with exit code 75 (busy) if memory is short, else with 70 (internal).
void install_terminate_handler();

}  // namespace evenkeel
