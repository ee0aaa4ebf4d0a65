// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::train {

/// From now on SIGINT and SIGTERM ask for an orderly stop (a second one ends the process at once
/// with exit code 130), SIGUSR1 asks for a checkpoint, SIGHUP, SIGPIPE and SIGXFSZ do nothing.
void catch_signals();

/// An orderly stop was asked for.
bool stop_wanted();

/// A checkpoint was asked for since the last call.
bool save_wanted();

}  // namespace evenkeel::train
