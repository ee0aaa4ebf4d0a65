// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace evenkeel::ops::cpu {

/// The items 0 to count of a parallel loop. Each thread works on a part of its own, from its
/// beginning, and when that is done, on the ends of the other parts. So a thread finds its rows in
/// its own cache, and none waits for long where a processor is shared or slow.
class WorkParts {
 public:
  /// \param count  at most 2^31
  WorkParts(std::int64_t count, int threads)
      : threads_(threads), parts_(new Part[static_cast<std::size_t>(threads)]) {
    for (int i = 0; i < threads; ++i)
      parts_[i].left = pack(count * i / threads, count * (i + 1) / threads);
  }

  /// Calls work(begin, end) for items until none is left.
  /// \param thread  0 to threads, each once
  template <typename Work>
  void run(int thread, const Work& work) {
    for (int i = 0; i < threads_; ++i) {
      const int part = (thread + i) % threads_;
      while (const auto items = take(parts_[part].left, /*from_end=*/i > 0)) {
        work(items.begin, items.end);
      }
    }
  }

 private:
  struct alignas(64) Part {
    std::atomic<std::uint64_t> left = 0;  // end and begin of the items left
  };
  struct Items {
    std::int64_t begin = 0, end = 0;
    explicit operator bool() const { return begin < end; }
  };

  static std::uint64_t pack(std::int64_t begin, std::int64_t end) {
    return static_cast<std::uint64_t>(end) << 32 | static_cast<std::uint64_t>(begin);
  }
  static Items unpack(std::uint64_t left) {
    return {static_cast<std::int64_t>(left & 0xffffffff), static_cast<std::int64_t>(left >> 32)};
  }

  /// A quarter of the items left, at least one.
  static Items take(std::atomic<std::uint64_t>& left, bool from_end) {
    constexpr std::int64_t kShare = 4;
    auto before = left.load(std::memory_order_relaxed);
    while (true) {
      const auto [begin, end] = unpack(before);
      if (begin >= end) return {};
      const auto count = std::max<std::int64_t>(1, (end - begin) / kShare);
      const Items taken = from_end ? Items{end - count, end} : Items{begin, begin + count};
      const auto after = from_end ? pack(begin, end - count) : pack(begin + count, end);
      if (left.compare_exchange_weak(before, after, std::memory_order_relaxed)) return taken;
    }
  }

  int threads_;
  std::unique_ptr<Part[]> parts_;
};

}  // namespace evenkeel::ops::cpu
