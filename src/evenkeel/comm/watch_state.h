// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "evenkeel/comm/heartbeat.h"
#include "evenkeel/comm/watch.h"

namespace evenkeel::comm {

/// Why a process ends.
struct Verdict {
  std::string message;  // empty: another rank prints the reason
  int exit = 75;
  int lost = -1;  // the lost rank; -1: none
};

/// What a Watch and its two threads share.
struct Watch::State {
  State(Store connection, const Place& its_place, const WatchLimits& its_limits);

  void beat_loop();
  void judge_loop();

  // All of the following with the mutex held.
  std::optional<Verdict> verdict(HeartbeatTable::Time now) const;
  Verdict lost_verdict(int rank, double silence) const;
  std::string consequence(int rank) const;
  std::string name_of(int rank) const;
  bool store_is_silent(HeartbeatTable::Time now) const;
  /// Whether this rank prints why the ranks end. All other ranks write it into their log.
  bool is_speaker(int lost, HeartbeatTable::Time now) const;
  /// Writes the message of a verdict. Needs no mutex when it is called.
  std::function<void()> writer(const Verdict& verdict, HeartbeatTable::Time now) const;
  /// This process did not run for so long.
  void forgive(std::chrono::steady_clock::duration pause, HeartbeatTable::Time now);

  /// One round of the beat thread: publishes, reads.
  void beat();
  /// Publishes the verdict, prints it, ends the process.
  [[noreturn]] void end(const Verdict& verdict);
  /// Reports to launch() that the ranks end because one was lost, or because the exchange failed.
  void report_loss() const;
  /// Waits until `done`, for at most `seconds`. The mutex is free meanwhile.
  template <typename Done>
  void wait_until(const Done& done, double seconds);

  const Store store;
  const Place place;
  const WatchLimits limits;

  mutable std::mutex mutex;
  HeartbeatTable table;
  Heartbeat own;                        // the next one to publish
  Heartbeat published;                  // the last one
  HeartbeatTable::Time store_answered;  // the end of the last call of the store
  std::string store_error;              // empty: none
  std::vector<std::string> names;       // by rank; empty: not known
  std::vector<std::string> hosts;       // by rank: name of its machine; empty: not known
  std::string run_folder;
  std::string engine_reason;  // empty: no error of the engine
  HeartbeatTable::Time engine_failed_at;
  bool in_call = false;
  std::string call_where;
  std::string activity = "step ";  // what the ranks do together; the number of the step follows
  HeartbeatTable::Time call_began;
  std::atomic<bool> publishes = false;  // the heartbeats of this rank
  std::atomic<bool> is_urgent = false;  // heartbeats ten times a second
  std::atomic<bool> is_over = false;    // both threads end
  bool is_leaving = false;              // no verdict any more

  std::thread beat_thread, judge_thread;
};

}  // namespace evenkeel::comm
