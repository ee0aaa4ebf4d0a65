// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/comm/group.h"
#include "evenkeel/comm/place.h"
#include "evenkeel/comm/store.h"

namespace evenkeel::comm {

/// Limits of a watch, in seconds.
struct WatchLimits {
  double heartbeat = 10;    // a rank without a heartbeat for this time is lost
  double collective = 600;  // a rank that waits so long in one call names the rank that is missing
};

/// Two threads next to the main thread: one publishes the heartbeat of this rank at least once a
/// second and reads those of all, the other judges them every 50 ms. When a rank is lost, the
/// process says which one, and ends with exit code 75 without a further step: an engine may wait
/// for the lost rank forever.
class Watch {
 public:
  /// \param store  a connection of its own: its calls must not wait for those of the main thread
  Watch(Store store, const Place& place, const WatchLimits& limits);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  Watch(Watch&&) = delete;
  Watch& operator=(Watch&&) = delete;
  /// Ends both threads.
  ~Watch();

  /// From now on this rank publishes heartbeats. Before, the watch only reads.
  void begin_heartbeats();

  /// A rank has come: from now on it is lost if it is silent.
  /// \param name  of the rank in messages: "rank 2 (a2, process 4711)"
  /// \param host  name of its machine
  void set_member(int rank, const std::string& name, const std::string& host);
  std::string name(int rank) const;

  void set_run_folder(const std::string& folder);
  void report(const Position& position);
  void set_activity(const char* activity);

  /// Frame a collective call. \param where  what is waited for; empty: an exchange
  void begin_call(const char* where);
  void end_call();

  /// After an error of the engine: waits until it is clear which rank is lost, and ends the
  /// process. At the moment of the error all ranks are equally suspect.
  /// \param reason  what the engine says, for the case that all ranks still answer
  [[noreturn]] void end_after_engine_error(const std::string& reason);

  /// Publishes that this rank ends with an error. Returns when all ranks know, or after 2 seconds.
  void publish_exit(Exit exit);

  /// Publishes that this rank ends in good order; returns when all have, or after 5 seconds.
  void leave();

 private:
  struct State;
  std::shared_ptr<State> state_;  // also of the threads: a call of a dead store may never return
};

}  // namespace evenkeel::comm
