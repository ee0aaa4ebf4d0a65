// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::comm {

/// What a rank publishes at least once a second.
struct Heartbeat {
  std::int64_t count = 0;        // rises by one each time
  std::int64_t step = 0;         // the step that the rank works on; 0: before the first
  std::int64_t checkpoint = -1;  // step of the last durable checkpoint; -1: none
  std::int64_t calls = 0;        // collective calls that it has begun
  std::int64_t lost = -1;        // the rank that it found lost; it ends because of that
  std::int64_t exit = -1;        // it ends with this exit code; 0: in good order; -1: it does not
  bool operator==(const Heartbeat&) const = default;

  bool is_ending() const { return lost >= 0 || exit >= 0; }
};

/// A heartbeat as a value of the store.
std::string heartbeat_text(const Heartbeat& heartbeat);
/// The heartbeat of such a value; a default one if it is not of heartbeat_text().
Heartbeat parse_heartbeat(const std::string& value);

/// What this rank knows of the heartbeats of all.
class HeartbeatTable {
 public:
  using Time = std::chrono::steady_clock::time_point;

  HeartbeatTable(int ranks, int self) : self_(self), rows_(static_cast<std::size_t>(ranks)) {}

  /// Ignores a heartbeat equal to the last one of that rank: the rank has published nothing new.
  void hear(int rank, const Heartbeat& heartbeat, Time now);

  /// This process did not run for so long, so it could not hear anybody.
  void forgive(std::chrono::steady_clock::duration pause, Time now);

  /// A rank has come, and its first heartbeat must follow.
  void expect(int rank, Time now);

  /// The last heartbeat of a rank; nullopt: none so far.
  const std::optional<Heartbeat>& last(int rank) const {
    return rows_[static_cast<std::size_t>(rank)].last;
  }

  /// Seconds since the last heartbeat of a rank, or since it came; 0 before.
  double silence(int rank, Time now) const;

  /// The rank other than this one that is silent for the longest time, above `limit` seconds. A
  /// rank that has not come, or that ends, is not silent.
  std::optional<int> silent_rank(Time now, double limit) const;

  /// The rank that some other rank found lost.
  std::optional<int> found_lost() const;

  /// The exit code of a rank that ends with an error.
  std::optional<int> error_exit() const;

  /// The rank other than this one with the fewest collective calls, below `calls`.
  std::optional<int> rank_behind(std::int64_t calls) const;

  /// True if all other ranks but `except` are ending or silent for `limit` seconds, or never came.
  bool all_others_end(Time now, double limit, int except) const;

  /// The lowest rank that is neither `except`, nor ending with an error, nor silent for `limit`
  /// seconds. This rank is never silent.
  int lowest_but(int except, Time now, double limit) const;

  int ranks() const { return static_cast<int>(rows_.size()); }

 private:
  struct Row {
    std::optional<Heartbeat> last;
    Time at;                   // of `last`, or when the rank came
    bool is_expected = false;  // the rank has come
  };
  int self_;
  std::vector<Row> rows_;
};

}  // namespace evenkeel::comm
