// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/threads.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

/// Threads that wait until the destructor.
class WaitingThreads {
 public:
  WaitingThreads() = default;
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;
  WaitingThreads(WaitingThreads&&) = delete;
  WaitingThreads& operator=(WaitingThreads&&) = delete;
  ~WaitingThreads() {
    {
      const std::lock_guard lock(mutex_);
      may_end_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  /// \throws std::system_error if no thread can be created
  void add() {
    threads_.emplace_back([this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return may_end_; });
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_end_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

ThreadLimit thread_limit(int count) {
  WaitingThreads threads;
  ThreadLimit limit;
  try {
    for (; limit.count < count; ++limit.count) threads.add();
  } catch (const std::system_error& error) {
    limit.reason = error.code().message();
  }
  return limit;
}

void check_threads(int count) {
  const auto limit = thread_limit(count);
  if (limit.count >= count) return;
  throw Error(Exit::busy, text(count, " threads are needed, but only ", limit.count,
                               " can be created: ", limit.reason,
                               "; set train.threads=", limit.count, ", or raise `ulimit -u`"));
}

}  // namespace evenkeel
