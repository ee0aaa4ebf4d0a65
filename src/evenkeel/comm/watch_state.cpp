// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/watch_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <utility>

#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"

namespace evenkeel::comm {

namespace {

double watch_seconds(HeartbeatTable::Time from, HeartbeatTable::Time to) {
  return std::chrono::duration<double>(to - from).count();
}

/// "2.5"
std::string with_one_decimal(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << value;
  return out.str();
}

}  // namespace

Watch::State::State(Store connection, const Place& its_place, const WatchLimits& its_limits)
    : store(std::move(connection)),
      place(its_place),
      limits(its_limits),
      table(its_place.ranks, its_place.rank),
      store_answered(std::chrono::steady_clock::now()),
      names(static_cast<std::size_t>(its_place.ranks)),
      hosts(static_cast<std::size_t>(its_place.ranks)) {}

std::string Watch::State::name_of(int rank) const {
  const auto& name = names[static_cast<std::size_t>(rank)];
  return name.empty() ? text("rank ", rank) : name;
}

bool Watch::State::store_is_silent(HeartbeatTable::Time now) const {
  return !store_error.empty() || watch_seconds(store_answered, now) > limits.heartbeat;
}

std::string Watch::State::consequence(int rank) const {
  // Ranks meet at each step, so none lags by more than one; its last heartbeat may be older.
  std::int64_t step = own.step - 1, checkpoint = own.checkpoint;
  for (int each = 0; each < table.ranks(); ++each) {
    if (table.last(each)) checkpoint = std::max(checkpoint, table.last(each)->checkpoint);
  }
  if (const auto& last = table.last(rank)) step = std::max(step, last->step);
  std::string out = step > 0 ? text(", was at step ", step) : ", was before step 1";
  if (checkpoint < 0 || run_folder.empty())
    return out + "; there is no checkpoint yet: start again";
  const std::string ranks =
      place.launcher == Launcher::own ? text("--ranks ", place.ranks, " ") : "";
  return out + text("; the last checkpoint is step ", checkpoint, "; go on with: evenkeel train ",
                    ranks, "--run ", shell_word(run_folder));
}

Verdict Watch::State::lost_verdict(int rank, double silence) const {
  return {.message = text(name_of(rank), " is lost: not heard of for ", with_one_decimal(silence),
                          " s", consequence(rank)),
          .lost = rank};
}

std::optional<Verdict> Watch::State::verdict(HeartbeatTable::Time now) const {
  constexpr double kAfterEngineError = 2.5;  // seconds; a rank that lives beats within 1
  const bool has_failed = !engine_reason.empty();
  if (const auto exit = table.error_exit()) return Verdict{.message = "", .exit = *exit};
  if (const auto rank = table.found_lost()) {
    if (*rank != place.rank) return lost_verdict(*rank, table.silence(*rank, now));
    return Verdict{.message = text(name_of(*rank), " stood still, and the other ranks have ended",
                                   consequence(*rank)),
                   .lost = *rank};
  }
  if (store_is_silent(now)) {
    const double silence = watch_seconds(store_answered, now);
    if (!place.has_agent_store) return lost_verdict(0, silence);
    return Verdict{.message = text("MASTER_ADDR: the store of torchrun at ", place.address, ":",
                                   place.port, " is lost: no answer for ",
                                   with_one_decimal(silence), " s", consequence(place.rank))};
  }
  const double limit =
      has_failed ? std::min(kAfterEngineError, limits.heartbeat) : limits.heartbeat;
  // While the store does not answer, no rank can be heard: that is no silence of theirs.
  if (const auto rank = table.silent_rank(store_answered, limit))
    return lost_verdict(*rank, table.silence(*rank, now));
  if (has_failed && watch_seconds(engine_failed_at, now) > limits.heartbeat + 1) {
    return Verdict{.message = text("the exchange failed, although all ranks send heartbeats: ",
                                   engine_reason, consequence(place.rank))};
  }
  if (has_failed || !in_call || watch_seconds(call_began, now) <= limits.collective)
    return std::nullopt;
  const auto behind = table.rank_behind(own.calls);
  if (!behind) return std::nullopt;  // all are there: the engine has a timeout of its own
  const auto what = call_where.empty() ? text(activity, own.step) : call_where;
  return Verdict{.message = text(name_of(*behind), " sends heartbeats, but has not come to ", what,
                                 " for ", limits.collective, " s"),
                 .lost = *behind};
}

bool Watch::State::is_speaker(int lost, HeartbeatTable::Time now) const {
  if (!store_is_silent(now))
    return place.rank == table.lowest_but(lost, store_answered, 0.75 * limits.heartbeat);
  // No rank hears of another one any more, and the machine of the store may be gone with all its
  // ranks: the lowest rank of that machine prints, and the lowest rank of all other machines.
  const auto& store_host = hosts.front();
  const bool is_there = hosts[static_cast<std::size_t>(place.rank)] == store_host;
  for (int rank = 0; rank < place.rank; ++rank) {
    const bool has_store = hosts[static_cast<std::size_t>(rank)] == store_host;
    if (rank != lost && has_store == is_there) return false;
  }
  return true;
}

std::function<void()> Watch::State::writer(const Verdict& verdict, HeartbeatTable::Time now) const {
  const auto line = text("evenkeel: ", verdict.message);
  if (is_speaker(verdict.lost, now)) return [line] { print_message(line); };
  if (run_folder.empty()) return {};
  const auto log = std::filesystem::path(run_folder) / text("log-rank-", place.rank, ".txt");
  return [line, log] {
    const int file = ::open(
        log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (file < 0) return;
    ::dprintf(file, "%s\n", line.c_str());
    ::close(file);
  };
}

void Watch::State::forgive(std::chrono::steady_clock::duration pause, HeartbeatTable::Time now) {
  table.forgive(pause, now);
  for (auto* const time : {&store_answered, &call_began, &engine_failed_at})
    *time = std::min(*time + pause, now);
}

}  // namespace evenkeel::comm
