// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::train {

/// Installs the signal handlers of a run:
///
/// | signal                   | effect                                                        |
/// | ------------------------ | ------------------------------------------------------------- |
/// | SIGINT, SIGTERM          | an orderly stop; a second one ends the process, exit code 130 |
/// | SIGUSR1                  | a checkpoint after the step                                   |
/// | SIGHUP, SIGPIPE, SIGXFSZ | ignored                                                       |
void catch_signals();

/// True after SIGINT or SIGTERM.
bool stop_wanted();

/// True if SIGUSR1 arrived since the last call.
bool save_wanted();

}  // namespace evenkeel::train
