// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::comm {

/// The arguments of launch().
struct LaunchOptions {
  int ranks = 1;
  int restarts = 0;                  // times that all ranks start again after the loss of one
  std::vector<std::string> command;  // program and arguments of every rank
  double heartbeat_timeout = 10;     // seconds; ranks that still run well after it are killed
};

/// Starts `ranks` processes of this machine and waits for them. Each gets the variables of torchrun
/// (place_of() of comm/place.h), rank 0 also the listening socket of the store, so that no other
/// process can take its port. SIGINT, SIGTERM, SIGUSR1 and SIGHUP, unless it is ignored, go on to
/// all ranks; when this process ends, they get SIGTERM. No rank is left when the function returns.
/// Ranks start again after a pause of 1, 2, 4, ..., at most 60 seconds, and only if one was lost or
/// the exchange failed: not if they end with another error, such as missing memory. SIGINT, SIGTERM
/// or SIGHUP ends the pause, and the function returns 75.
/// \return the exit code of the first rank that failed; if a signal ended that rank, 128 + its
///         number if this process passed the signal on, else 75 (busy); 0 if all ended with 0
/// \throws Error (busy, exit code 75) if a process cannot be started
int launch(const LaunchOptions& options);

}  // namespace evenkeel::comm
