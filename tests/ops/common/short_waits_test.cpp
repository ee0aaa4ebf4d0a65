// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/short_waits.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

namespace evenkeel::ops {
namespace {

int thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

TEST(WantsShortWaits, HasAHysteresis) {
  EXPECT_FALSE(wants_short_waits(false, 0.2));
  EXPECT_TRUE(wants_short_waits(false, 0.3));
  EXPECT_TRUE(wants_short_waits(true, 0.2));
  EXPECT_FALSE(wants_short_waits(true, 0.05));
}

/// A loop in a team of two; its result.
int sum_of_a_team() {
  std::atomic<int> sum = 0;
  at::set_num_threads(2);
  at::parallel_for(0, 100, 1, [&](std::int64_t begin, std::int64_t end) {
    sum += static_cast<int>(end - begin);
  });
  return sum;
}

// More OpenMP threads than processors while it lives, and none of them afterwards.
TEST(ShortWaits, AddsIdleThreads) {
  EXPECT_EQ(sum_of_a_team(), 100);
  const int before = thread_count();
  {
    const ShortWaits waits(2);
    EXPECT_EQ(thread_count() - before, std::max(2, omp_get_num_procs()));
    EXPECT_EQ(sum_of_a_team(), 100);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (thread_count() > before && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(thread_count(), before);
}

TEST(BusyMachineWatch, EndsAtOnce) {
  for (const int threads : {1, 2}) {
    const auto start = std::chrono::steady_clock::now();
    {
      const BusyMachineWatch watch(threads);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

}  // namespace
}  // namespace evenkeel::ops
