// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/store/directory.h"

namespace evenkeel::study {

/// The leases of one worker: which runs of the run cache it trains. Workers on several machines
/// share the folder RUN_CACHE/.leases, and no server.
///
/// A lease is a file KEY.1. Its owner rewrites the file with a rising heartbeat. A worker that
/// reads the same content for `heartbeat_timeout` seconds of its own clock takes the run over: it
/// creates KEY.2. Creation is exclusive (O_EXCL), so one worker succeeds. The highest number is the
/// lease; the owner of a lower number finds the higher file at its next heartbeat, and stops its
/// run. No clock is compared with that of another machine.
class RunLeases {
 public:
  enum class Claim {
    owned,              // by this worker, now or since an earlier call
    stolen,             // owned now; the former owner was silent for `heartbeat_timeout` seconds
    held_elsewhere,     // by another worker
    crashed_elsewhere,  // the run crashed in another worker since look_at()
  };

  /// \param run_cache    parent of the run folders; created if missing
  /// \param worker       unique name of this worker, worker_name()
  /// \param heartbeat_timeout  seconds without a heartbeat, > 0
  /// \throws Error (io, exit code 74) if the folder cannot be created
  RunLeases(const std::filesystem::path& run_cache, std::string worker, double heartbeat_timeout);
  RunLeases(const RunLeases&) = delete;
  RunLeases& operator=(const RunLeases&) = delete;
  /// Releases all leases.
  ~RunLeases();

  /// Reads the lease of a run. The first look decides which crashes are older than this worker: the
  /// same command, given again, tries those runs again.
  /// \throws Error (io) if the lease cannot be read
  void look_at(const std::string& key) { look(key); }

  /// Takes the lease of a run, if no other worker has it.
  /// \throws Error (io) if the lease cannot be read or written
  Claim claim(const std::string& key);

  bool holds(const std::string& key) const { return held_.contains(key); }

  /// The worker in the newest lease that claim(key) read; "" if there was none.
  std::string other_worker(const std::string& key) const;

  /// Why the run crashed in another worker; after Claim::crashed_elsewhere.
  std::string crash_reason(const std::string& key) const;

  /// Ends a lease. No effect for a run without one, and none if the file cannot be written: the
  /// lease is then stolen later.
  /// \param crash_reason  why the run crashed, for the other workers; "": another worker may take
  ///                      the run
  void release(const std::string& key, const std::string& crash_reason = "");
  void release_all();

  /// Writes the heartbeats that are due.
  /// \param at_once  all heartbeats are due
  /// \return the runs whose lease another worker has stolen; this object does not hold them any
  ///         more
  std::vector<std::string> renew(bool at_once = false);

  /// Removes the leases of a run that has ended, also those of other workers.
  void remove(const std::string& key) const;

  double heartbeat_timeout() const { return heartbeat_timeout_; }
  /// Seconds between two claims of a run that another worker has.
  double retry_seconds() const;

 private:
  /// What this worker saw of the leases of a run.
  struct Seen {
    std::int64_t generation = 0;  // highest number of a file; 0: none
    std::int64_t old_crash = 0;   // its value at the first look, if the run had crashed then
    std::string content;          // of that file
    double since = 0;             // when the content was new, seconds_now()
  };
  struct Held {
    std::int64_t generation = 0, heartbeat = 0;
    double written_at = 0;  // seconds_now()
  };

  Seen& look(const std::string& key);
  bool is_stolen(const std::string& key, const Held& held) const;
  void write(const std::string& key, const Held& held, const std::string& state,
             const std::string& reason) const;

  store::Directory folder_;
  std::string worker_;
  double heartbeat_timeout_;
  std::map<std::string, Seen> seen_;
  std::map<std::string, Held> held_;
};

/// "node-3:4711:9f3a01c2": host, process and a random number.
std::string worker_name();

/// Makes a process that still trains a run for the former owner of its lease stop before its next
/// step: RUN/lock is replaced.
/// \param by_force  also if a process has the lock of the run
/// \return false if a process has the lock, and nothing was done
/// \throws Error (io) if the lock file cannot be opened or removed
bool fence_run(const std::filesystem::path& run, bool by_force);

}  // namespace evenkeel::study
