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

void check_threads(int count) {
  WaitingThreads threads;
  for (int made = 1; made < count; ++made) {
    try {
      threads.add();
    } catch (const std::system_error& error) {
      throw Error(Exit::busy, text(count, " threads are needed, but only ", made,
                                   " can be created: ", error.code().message(),
                                   "; set train.threads=", made, ", or raise `ulimit -u`"));
    }
  }
}

}  // namespace evenkeel
