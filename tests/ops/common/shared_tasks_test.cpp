// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/shared_tasks.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace evenkeel::ops::cpu {
namespace {

/// How often each task is taken.
std::vector<int> counts(std::int64_t tasks, std::int64_t threads) {
  std::vector<std::atomic<int>> taken(static_cast<std::size_t>(tasks));
  share_tasks(tasks, threads, [&](const auto& take) {
    for (auto task = take(); task; task = take()) ++taken[static_cast<std::size_t>(*task)];
  });
  return {taken.begin(), taken.end()};
}

TEST(SharedTasks, AreTakenOnceEach) {
  for (const std::int64_t tasks : {0, 1, 2, 5, 1000}) {
    for (const std::int64_t threads : {1, 2, 3}) {
      EXPECT_EQ(counts(tasks, threads), std::vector<int>(static_cast<std::size_t>(tasks), 1))
          << tasks << " tasks, " << threads << " threads";
    }
  }
}

TEST(SharedTasks, AreTakenOnceEachInsideOfAParallelRegion) {
  std::atomic<int> wrong = 0;
  at::parallel_for(0, 4, /*grain_size=*/1, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) wrong += counts(7, 2) != std::vector<int>(7, 1) ? 1 : 0;
  });
  EXPECT_EQ(wrong, 0);
}

// The thread with a long task takes no other one.
TEST(SharedTasks, AreLeftToFreeThreads) {
  if (at::get_num_threads() < 2) GTEST_SKIP() << "one processor";
  std::atomic<int> done = 0;
  share_tasks(10, 2, [&](const auto& take) {
    for (auto task = take(); task; task = take()) {
      while (*task == 0 && done < 9) {
      }
      ++done;
    }
  });
  EXPECT_EQ(done, 10);
}

TEST(ShrinkingTasks, CoverAllItemsWithFewerTowardsTheEnd) {
  EXPECT_EQ(shrinking_tasks(24, 8, 2, 1), (std::vector<std::int64_t>{0, 8, 14, 18, 20, 22, 24}));
  EXPECT_EQ(shrinking_tasks(24, 8, 1, 2, 3), (std::vector<std::int64_t>{0, 8, 16, 20, 22, 23, 24}));
  EXPECT_EQ(shrinking_tasks(0, 8, 1, 2), (std::vector<std::int64_t>{0}));
  for (const std::int64_t count : {1, 7, 100, 4096}) {
    for (const std::int64_t threads : {1, 2, 64}) {
      const auto begins = shrinking_tasks(count, 13, 2, threads);
      EXPECT_EQ(begins.front(), 0);
      EXPECT_EQ(begins.back(), count);
      for (std::size_t i = 1; i < begins.size(); ++i) {
        EXPECT_LE(begins[i] - begins[i - 1], 13);
        EXPECT_GE(begins[i] - begins[i - 1], i + 1 < begins.size() ? 2 : 1);
        const auto before = i > 1 ? begins[i - 1] - begins[i - 2] : count;
        EXPECT_LE(begins[i] - begins[i - 1], before);
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::ops::cpu
