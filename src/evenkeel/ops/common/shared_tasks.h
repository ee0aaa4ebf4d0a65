// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "evenkeel/ops/common/cpu_adapter.h"

/// Tasks that threads take as they become free. Two processors are seldom equally fast, and other
/// processes use them; with equal parts all threads wait for the slowest one.
namespace evenkeel::ops::cpu {

/// Calls work(take) in up to `threads` threads. take() is the number of the next task of
/// [0, tasks); nullopt if none is left. Tasks must depend neither on each other nor on the thread.
template <typename Work>
void share_tasks(std::int64_t tasks, std::int64_t threads, const Work& work) {
  std::atomic<std::int64_t> next = 0;
  const auto take = [&]() -> std::optional<std::int64_t> {
    const auto task = next.fetch_add(1, std::memory_order_relaxed);
    return task < tasks ? std::optional(task) : std::nullopt;
  };
  const auto workers = std::min(tasks, threads);
  if (workers <= 1) return work(take);
  parallel_for(0, workers, /*grain=*/1, [&](std::int64_t, std::int64_t) { work(take); });
}

/// Where tasks that share `count` items begin, and `count` at the end. A task has at most `most`
/// items, and towards the end fewer, so that all threads end at about the same time.
/// \param tasks_of_an_item  tasks that each range of items makes, such as blocks of columns
inline std::vector<std::int64_t> shrinking_tasks(std::int64_t count, std::int64_t most,
                                                 std::int64_t least, std::int64_t threads,
                                                 std::int64_t tasks_of_an_item = 1) {
  constexpr std::int64_t kTasksOfAThread = 3;  // that the remaining items would make
  std::vector<std::int64_t> begins{0};
  while (begins.back() < count) {
    const auto remaining = count - begins.back();
    const auto share = kernels::blocks_of(remaining * tasks_of_an_item, kTasksOfAThread * threads);
    begins.push_back(begins.back() + std::min(remaining, std::clamp(share, least, most)));
  }
  return begins;
}

}  // namespace evenkeel::ops::cpu
