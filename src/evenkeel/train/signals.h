// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::train {

/// Installs the signal handlers of a run:
///
/// | signal                   | effect                                                        |
/// | ------------------------ | ------------------------------------------------------------- |
/// | SIGINT, SIGTERM          | an orderly stop; after a second, another one ends the process |
/// | SIGUSR1                  | a checkpoint after the step                                   |
/// | SIGHUP                   | as SIGTERM; ignored if it was ignored before, as under nohup  |
/// | SIGPIPE, SIGXFSZ         | ignored                                                       |
///
/// The exit code of that end is 130. Signals that hold_signals() holds arrive after this call.
/// \param announces  on a terminal, a stop prints a message
void catch_signals(bool announces = true);

/// Holds SIGINT, SIGTERM, SIGHUP and SIGUSR1 back until catch_signals() or release_signals(), so
/// that none ends a run before its handlers are installed. Makes one system call and nothing else,
/// so it may run before the constructors of the libraries.
[[gnu::no_sanitize("address", "thread", "undefined")]] void hold_signals();

/// Lets the signals of hold_signals() arrive.
void release_signals();

/// True after SIGINT, SIGTERM, or SIGHUP unless it is ignored.
bool stop_wanted();

/// True if SIGUSR1 arrived since the last call.
bool save_wanted();

}  // namespace evenkeel::train
