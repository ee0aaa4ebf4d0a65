// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/heartbeat.h"

#include <algorithm>
#include <sstream>

#include "evenkeel/base/error.h"

namespace evenkeel::comm {

std::string heartbeat_text(const Heartbeat& heartbeat) {
  return text(heartbeat.count, " ", heartbeat.step, " ", heartbeat.checkpoint, " ", heartbeat.calls,
              " ", heartbeat.lost, " ", heartbeat.exit);
}

Heartbeat parse_heartbeat(const std::string& value) {
  std::istringstream in(value);
  Heartbeat heartbeat;
  in >> heartbeat.count >> heartbeat.step >> heartbeat.checkpoint >> heartbeat.calls >>
      heartbeat.lost >> heartbeat.exit;
  return in.fail() ? Heartbeat() : heartbeat;
}

void HeartbeatTable::hear(int rank, const Heartbeat& heartbeat, Time now) {
  auto& row = rows_[static_cast<std::size_t>(rank)];
  if (row.last == heartbeat) return;
  row.last = heartbeat;
  row.at = now;
}

void HeartbeatTable::expect(int rank, Time now) {
  auto& row = rows_[static_cast<std::size_t>(rank)];
  if (!row.last) row.at = now;
  row.is_expected = true;
}

void HeartbeatTable::forgive(std::chrono::steady_clock::duration pause, Time now) {
  for (auto& row : rows_) row.at = std::min(row.at + pause, now);
}

double HeartbeatTable::silence(int rank, Time now) const {
  const auto& row = rows_[static_cast<std::size_t>(rank)];
  const bool has_come = row.last || row.is_expected;
  return has_come ? std::chrono::duration<double>(now - row.at).count() : 0;
}

std::optional<int> HeartbeatTable::silent_rank(Time now, double limit) const {
  std::optional<int> found;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto& heartbeat = last(rank);
    if (rank == self_ || (heartbeat && heartbeat->is_ending())) continue;
    if (silence(rank, now) <= limit) continue;
    if (!found || silence(rank, now) > silence(*found, now)) found = rank;
  }
  return found;
}

std::optional<int> HeartbeatTable::found_lost() const {
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank != self_ && last(rank) && last(rank)->lost >= 0)
      return static_cast<int>(last(rank)->lost);
  }
  return std::nullopt;
}

std::optional<int> HeartbeatTable::error_exit() const {
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank != self_ && last(rank) && last(rank)->exit > 0)
      return static_cast<int>(last(rank)->exit);
  }
  return std::nullopt;
}

std::optional<int> HeartbeatTable::rank_behind(std::int64_t calls) const {
  std::optional<int> found;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto& heartbeat = last(rank);
    if (rank == self_ || !heartbeat || heartbeat->calls >= calls) continue;
    if (!found || heartbeat->calls < last(*found)->calls) found = rank;
  }
  return found;
}

bool HeartbeatTable::all_others_end(Time now, double limit, int except) const {
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto& row = rows_[static_cast<std::size_t>(rank)];
    if (rank == self_ || rank == except || (row.last && row.last->is_ending())) continue;
    const bool has_come = row.last || row.is_expected;
    if (has_come && silence(rank, now) <= limit) return false;
  }
  return true;
}

int HeartbeatTable::lowest_but(int except, Time now, double limit) const {
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank == self_) return rank;
    if (rank == except || !last(rank) || last(rank)->exit >= 0) continue;
    if (silence(rank, now) <= limit) return rank;
  }
  return self_;
}

}  // namespace evenkeel::comm
