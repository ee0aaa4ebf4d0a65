// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "evenkeel/watch/watched_runs.h"

namespace evenkeel::watch {

/// An HTTP server on 127.0.0.1 that answers GET with the pages of WatchedRuns, and /events with
/// server-sent events: one named "change" when a run has changed, at most one per second.
///
/// | request                                           | status |
/// | ------------------------------------------------- | ------ |
/// | a Host other than localhost, 127.0.0.1 and [::1]  | 403    |
/// | a path that no page has                           | 404    |
/// | a method other than GET and HEAD                  | 405    |
/// | /events while kMostStreams are open               | 503    |
class WatchServer {
 public:
  static constexpr int kMostStreams = 24;

  /// Listens from now on, with threads of its own.
  /// \param port  0: a free one
  /// \throws Error (busy, exit code 75) if the port is in use, (io, 74) if it cannot be used
  WatchServer(WatchedRuns runs, int port);
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;
  ~WatchServer();

  int port() const;

  class Listener;  // of the library

 private:
  std::unique_ptr<Listener> listener_;
};

}  // namespace evenkeel::watch
