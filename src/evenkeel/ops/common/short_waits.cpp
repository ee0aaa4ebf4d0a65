// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/short_waits.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/base/threads.h"

namespace evenkeel::ops {

namespace {

/// A thread of the function; no thread if it cannot be created.
template <typename Function>
std::jthread thread_if_possible(const Function& function) {
  try {
    return std::jthread(function);
  } catch (const std::system_error&) {
    return {};
  }
}

/// Waits until the thread is to end, at most this time.
void wait_for_stop(const std::stop_token& stop, std::chrono::milliseconds at_most) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, at_most, [] { return false; });
}

/// Starts a team, whose threads stay until the calling thread ends.
void start_idle_team(int size) {
  std::atomic<int> members = 0;  // without any work the compiler drops the team
#pragma omp parallel num_threads(size)
  {
    ++members;
  }
}

bool is_set(const char* variable) {
  return std::getenv(variable) != nullptr;
}

}  // namespace

ShortWaits::ShortWaits(int threads) {
  // The process then has one OpenMP thread more than processors.
  const int size = std::max(2, omp_get_num_procs() - threads + 2);
  team_ = thread_if_possible([this, size](const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "short-waits");  // its team has the name, too
    if (thread_limit(size).count == size) start_idle_team(size);
    started_.count_down();
    constexpr std::chrono::hours kLong(1);
    while (!stop.stop_requested()) wait_for_stop(stop, kLong);
  });
  if (team_.joinable()) started_.wait();
}

bool are_waits_fixed() {
  return is_set("OMP_WAIT_POLICY") || is_set("GOMP_SPINCOUNT");
}

bool wants_short_waits(bool now, double cores) {
  constexpr double kBusy = 0.25, kQuiet = 0.1;
  return cores > (now ? kQuiet : kBusy);
}

BusyMachineWatch::BusyMachineWatch(int threads) {
  if (threads < 2 || are_waits_fixed()) return;
  thread_ = thread_if_possible([threads](const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kPeriod(250);
    const auto processors = static_cast<double>(std::thread::hardware_concurrency());
    std::optional<ShortWaits> waits;
    while (!stop.stop_requested()) {
      const CpuContention contention;
      wait_for_stop(stop, kPeriod);
      const double cores = contention.share().value_or(0) * processors;
      const bool wanted = wants_short_waits(waits.has_value(), cores);
      if (!wanted) waits.reset();
      if (wanted && !waits && !stop.stop_requested()) waits.emplace(threads);
    }
  });
}

}  // namespace evenkeel::ops
