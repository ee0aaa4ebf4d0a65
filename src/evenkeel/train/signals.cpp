// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "evenkeel/base/error.h"

namespace evenkeel::train {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;  // ns

std::atomic<std::int64_t> first_stop = 0;  // when a stop was first requested, ns; 0: not yet
std::atomic<bool> save_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler requires this
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// A monotonic clock, in ns; never 0.
std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec + 1;
}

bool is_terminal = false;  // then a stop prints a message: a long step looks like a hang

/// The first signal asks for a stop. Signals within a second of it count as one, because `timeout`
/// and terminals send one to the program and one to its process group.
extern "C" void on_stop(int /*signal*/) {
  const auto at = now();
  std::int64_t first = 0;
  if (!first_stop.compare_exchange_strong(first, at)) {
    if (at - first >= kSecond) ::_exit(static_cast<int>(Exit::stopped));
    return;
  }
  constexpr std::string_view kMessage = "\nfinishing this step; once more stops at once\n";
  if (is_terminal && ::write(STDERR_FILENO, kMessage.data(), kMessage.size()) < 0)
    is_terminal = false;
}
extern "C" void on_save(int /*signal*/) {
  save_requested = true;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// The kernel's set of the signals that are held: bit n - 1 for signal n.
constexpr std::uint64_t kHeld =
    std::uint64_t{1} << (SIGINT - 1) | std::uint64_t{1} << (SIGTERM - 1) |
    std::uint64_t{1} << (SIGHUP - 1) | std::uint64_t{1} << (SIGUSR1 - 1);

}  // namespace

void hold_signals() {
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kHeld, nullptr, sizeof kHeld);
}

void release_signals() {
  ::syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &kHeld, nullptr, sizeof kHeld);
}

void catch_signals(bool announces) {
  is_terminal = announces && ::isatty(STDERR_FILENO) != 0;
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
  handle(SIGUSR1, on_save);
  if (!is_ignored(SIGHUP)) handle(SIGHUP, on_stop);
  handle(SIGPIPE, SIG_IGN);
  handle(SIGXFSZ, SIG_IGN);  // write() then fails with EFBIG at the file size limit
  release_signals();
}

bool stop_wanted() {
  return first_stop != 0;
}

bool save_wanted() {
  return save_requested.exchange(false);
}

}  // namespace evenkeel::train
