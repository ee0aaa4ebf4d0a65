// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/watch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "evenkeel/comm/watch_state.h"

namespace evenkeel::comm {

namespace {

using WatchClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr double kSecondsForOthers = 2;  // until they know of an error
constexpr double kSilent = 3;            // a rank that is silent for so long is not waited for
constexpr double kSecondsToLeave = 5;    // until all have left in good order

std::string heartbeat_key(int rank) {
  return text("heartbeat/", rank);
}

/// Sleeps for `total`, in parts, while the condition holds.
template <typename While>
void sleep_while(milliseconds total, const While& condition) {
  constexpr milliseconds kPart{20};
  for (auto slept = milliseconds{0}; slept < total && condition(); slept += kPart)
    std::this_thread::sleep_for(kPart);
}

/// Calls `function`, and returns when it has, or after a second: a terminal that is stopped, or the
/// file system of a machine that is gone, may never take a line.
void call_for_a_second(const std::function<void()>& function) {
  const auto is_done = std::make_shared<std::atomic<bool>>(false);
  try {
    std::thread([function, is_done] {
      function();
      *is_done = true;
    }).detach();
  } catch (const std::system_error&) {  // no thread can be created
    return function();
  }
  sleep_while(milliseconds(1000), [&] { return !*is_done; });
}

}  // namespace

template <typename Done>
void Watch::State::wait_until(const Done& done, double seconds) {
  const auto end = WatchClock::now() + std::chrono::duration<double>(seconds);
  while (WatchClock::now() < end) {
    {
      const std::lock_guard lock(mutex);
      if (done() || !store_error.empty()) return;
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
}

void Watch::State::beat() {
  Heartbeat now_published;
  std::vector<std::string> keys;
  std::vector<int> ranks, unknown;
  {
    const std::lock_guard lock(mutex);
    ++own.count;
    now_published = own;
    for (int rank = 0; rank < place.ranks; ++rank)
      (table.last(rank) ? ranks : unknown).push_back(rank);
  }
  const bool is_published = publishes;
  if (is_published) store.set(heartbeat_key(place.rank), heartbeat_text(now_published));
  std::copy_if(unknown.begin(), unknown.end(), std::back_inserter(ranks),
               [&](int rank) { return store.has(heartbeat_key(rank)); });
  keys.reserve(ranks.size());
  for (const int rank : ranks) keys.push_back(heartbeat_key(rank));
  const auto values = store.get(keys);
  const std::lock_guard lock(mutex);
  if (is_published) published = now_published;
  store_answered = WatchClock::now();
  for (std::size_t i = 0; i < ranks.size(); ++i)
    table.hear(ranks[i], parse_heartbeat(values[i]), store_answered);
}

void Watch::State::beat_loop() {
  constexpr milliseconds kUrgentPeriod{100};
  constexpr double kPerLimit = 0.2;  // a heartbeat may be late, and read late, without an alarm
  const auto usual = milliseconds(
      std::min<std::int64_t>(1000, static_cast<std::int64_t>(1000 * kPerLimit * limits.heartbeat)));
  try {
    while (!is_over) {
      const bool was_urgent = is_urgent, did_publish = publishes;
      beat();
      sleep_while(was_urgent ? kUrgentPeriod : usual,
                  [&] { return !is_over && was_urgent == is_urgent && did_publish == publishes; });
    }
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex);
    store_error = engine_error(error);
  }
}

void Watch::State::judge_loop() {
  constexpr milliseconds kPeriod{50};
  constexpr milliseconds kPause{2000};  // longer: the process was stopped, or the machine slept
  auto before = WatchClock::now();
  while (!is_over) {
    std::this_thread::sleep_for(kPeriod);
    const auto now = WatchClock::now();
    std::optional<Verdict> found;
    {
      const std::lock_guard lock(mutex);
      if (now - before > kPause) {
        forgive(now - before, now);
      }
      if (!is_leaving) found = verdict(now);
    }
    before = now;
    if (found && !is_over) end(*found);
  }
}

void Watch::State::report_loss() const {
  if (!place.loss_fd) return;
  [[maybe_unused]] const auto written = ::write(*place.loss_fd, "", 1);
}

void Watch::State::end(const Verdict& verdict) {
  std::function<void()> write;
  {
    const std::lock_guard lock(mutex);
    own.lost = verdict.lost;
    if (verdict.lost < 0) own.exit = verdict.exit;
    is_urgent = true;
    if (!verdict.message.empty()) write = writer(verdict, WatchClock::now());
  }
  if (!verdict.message.empty()) report_loss();
  if (write) call_for_a_second(write);
  wait_until([this] { return published.is_ending(); }, 1);
  // The store ends with rank 0, and all others still have to read the verdict.
  if (place.rank == 0 && !place.has_agent_store) {
    wait_until(
        [this, &verdict] { return table.all_others_end(WatchClock::now(), kSilent, verdict.lost); },
        kSecondsForOthers);
  }
  ::_exit(verdict.exit);
}

Watch::Watch(Store store, const Place& place, const WatchLimits& limits)
    : state_(std::make_shared<State>(std::move(store), place, limits)) {
  state_->beat_thread = std::thread([state = state_] { state->beat_loop(); });
  state_->judge_thread = std::thread([state = state_] { state->judge_loop(); });
}

Watch::~Watch() {
  state_->is_over = true;
  state_->judge_thread.join();
  bool answers = false;
  {
    const std::lock_guard lock(state_->mutex);
    answers = !state_->store_is_silent(WatchClock::now());
  }
  if (answers) {
    state_->beat_thread.join();
  } else {
    state_->beat_thread.detach();
  }
}

void Watch::set_member(int rank, const std::string& name, const std::string& host) {
  const std::lock_guard lock(state_->mutex);
  state_->names[static_cast<std::size_t>(rank)] = name;
  state_->hosts[static_cast<std::size_t>(rank)] = host;
  state_->table.expect(rank, WatchClock::now());
}

void Watch::begin_heartbeats() {
  state_->publishes = true;
}

std::string Watch::name(int rank) const {
  const std::lock_guard lock(state_->mutex);
  return state_->name_of(rank);
}

void Watch::set_run_folder(const std::string& folder) {
  const std::lock_guard lock(state_->mutex);
  state_->run_folder = folder;
}

void Watch::report(const Position& position) {
  const std::lock_guard lock(state_->mutex);
  state_->own.step = position.step;
  state_->own.checkpoint = position.checkpoint;
}

void Watch::set_activity(const char* activity) {
  const std::lock_guard lock(state_->mutex);
  state_->activity = activity;
}

void Watch::begin_call(const char* where) {
  const std::lock_guard lock(state_->mutex);
  ++state_->own.calls;
  state_->in_call = true;
  state_->call_where = where;
  state_->call_began = WatchClock::now();
}

void Watch::end_call() {
  const std::lock_guard lock(state_->mutex);
  state_->in_call = false;
}

void Watch::end_after_engine_error(const std::string& reason) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->engine_reason = reason;
    state_->engine_failed_at = WatchClock::now();
    state_->is_urgent = true;
  }
  while (true) std::this_thread::sleep_for(milliseconds(1000));  // until end()
}

void Watch::publish_exit(Exit exit) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->own.exit = static_cast<int>(exit);
    state_->is_urgent = true;
    state_->is_leaving = true;
  }
  state_->wait_until([this] { return state_->published.is_ending(); }, kSecondsForOthers);
  if (state_->place.rank != 0 || state_->place.has_agent_store) return;
  state_->wait_until(
      [this] { return state_->table.all_others_end(WatchClock::now(), kSilent, -1); },
      kSecondsForOthers);
}

void Watch::leave() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->own.exit = 0;
    state_->is_urgent = true;
    state_->is_leaving = true;
  }
  state_->wait_until([this] { return state_->published.is_ending(); }, kSecondsToLeave);
  if (state_->place.rank == 0 && !state_->place.has_agent_store) {
    state_->wait_until(
        [this] { return state_->table.all_others_end(WatchClock::now(), kSilent, -1); },
        kSecondsToLeave);
  }
  state_->is_over = true;
}

}  // namespace evenkeel::comm
