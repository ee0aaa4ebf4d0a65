// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/short_waits.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/base/threads.h"

namespace evenkeel::ops {

namespace {

/// A thread that takes no signals: handlers run in the threads of the program. No thread if it
/// cannot be created.
template <typename Function>
std::thread thread_without_signals(const Function& function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(function);
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
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
  team_ = thread_without_signals([this, size] {
    pthread_setname_np(pthread_self(), "short-waits");  // its team has the name, too
    if (thread_limit(size).count == size) start_idle_team(size);
    std::unique_lock lock(mutex_);
    has_started_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return may_end_; });
  });
  if (!team_.joinable()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_started_; });
}

ShortWaits::~ShortWaits() {
  {
    const std::lock_guard lock(mutex_);
    may_end_ = true;
  }
  changed_.notify_all();
  if (team_.joinable()) team_.join();
}

bool wants_short_waits(bool now, double cores) {
  constexpr double kBusy = 0.25, kQuiet = 0.1;
  return cores > (now ? kQuiet : kBusy);
}

BusyMachineWatch::BusyMachineWatch(int threads) {
  if (threads < 2 || is_set("OMP_WAIT_POLICY") || is_set("GOMP_SPINCOUNT")) return;
  thread_ = thread_without_signals([this, threads] { watch(threads); });
}

BusyMachineWatch::~BusyMachineWatch() {
  {
    const std::lock_guard lock(mutex_);
    may_end_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BusyMachineWatch::watch(int threads) {
  constexpr std::chrono::milliseconds kPeriod(250);
  const auto processors = static_cast<double>(std::thread::hardware_concurrency());
  std::optional<ShortWaits> waits;
  std::unique_lock lock(mutex_);
  while (!may_end_) {
    const CpuContention contention;
    if (changed_.wait_for(lock, kPeriod, [this] { return may_end_; })) return;
    const double cores = contention.share().value_or(0) * processors;
    const bool wanted = wants_short_waits(waits.has_value(), cores);
    if (!wanted) waits.reset();
    if (wanted && !waits) waits.emplace(threads);
  }
}

}  // namespace evenkeel::ops
