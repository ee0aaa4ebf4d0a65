// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/work_parts.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "evenkeel/ops/common/cpu_adapter.h"

namespace evenkeel::ops::cpu {
namespace {

/// How often each item was in a range.
class Visits {
 public:
  explicit Visits(std::int64_t count) : visits_(static_cast<std::size_t>(count)) {}
  void add(std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) ++visits_[static_cast<std::size_t>(i)];
  }
  bool are_all(int count) const {
    for (const auto& visits : visits_) {
      if (visits != count) return false;
    }
    return true;
  }

 private:
  std::vector<std::atomic<int>> visits_;
};

TEST(WorkParts, HaveEachItemOnce) {
  for (const std::int64_t count : {0, 1, 2, 7, 100, 4097}) {
    for (const int threads : {1, 2, 3, 8}) {
      Visits visits(count);
      WorkParts parts(count, threads);
      std::vector<std::thread> team;
      team.reserve(static_cast<std::size_t>(threads));
      for (int i = 0; i < threads; ++i) {
        team.emplace_back([&, i] {
          parts.run(i, [&](std::int64_t begin, std::int64_t end) { visits.add(begin, end); });
        });
      }
      for (auto& thread : team) thread.join();
      EXPECT_TRUE(visits.are_all(1)) << count << " items, " << threads << " threads";
    }
  }
}

// The second thread waits until the first one has done all that it does not hold itself.
TEST(WorkParts, OfASlowThreadAreTakenByAnother) {
  constexpr std::int64_t kCount = 64;
  WorkParts parts(kCount, 2);
  std::atomic<std::int64_t> held = 0, done = 0;
  std::thread slow([&] {
    parts.run(1, [&](std::int64_t begin, std::int64_t end) {
      held += end - begin;
      const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (done + held < kCount && std::chrono::steady_clock::now() < last)
        std::this_thread::yield();
    });
  });
  while (held == 0) std::this_thread::yield();
  parts.run(0, [&](std::int64_t begin, std::int64_t end) { done += end - begin; });
  EXPECT_EQ(done + held, kCount);
  EXPECT_LE(held, kCount / 8);  // a quarter of its half
  slow.join();
}

TEST(ParallelFor, HasRangesOfWholeGrains) {
  at::set_num_threads(3);
  constexpr std::int64_t kBegin = 5, kEnd = 1000, kGrain = 16;
  Visits visits(kEnd);
  visits.add(0, kBegin);
  std::atomic<bool> are_whole = true;
  parallel_for(kBegin, kEnd, kGrain, [&](std::int64_t first, std::int64_t last) {
    visits.add(first, last);
    if ((first - kBegin) % kGrain != 0 || (last != kEnd && (last - kBegin) % kGrain != 0)) {
      are_whole = false;
    }
  });
  EXPECT_TRUE(visits.are_all(1));
  EXPECT_TRUE(are_whole);
}

TEST(ParallelFor, PassesExceptionsOn) {
  at::set_num_threads(3);
  const auto fail = [](std::int64_t first, std::int64_t last) {
    if (first <= 70 && 70 < last) throw std::runtime_error("item 70");
  };
  EXPECT_THROW(parallel_for(0, 100, /*grain=*/1, fail), std::runtime_error);
}

}  // namespace
}  // namespace evenkeel::ops::cpu
