// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/huge_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/sanitizers.h"

namespace evenkeel::memory {
namespace {

/// Whether the flag of huge pages is set at an address: VmFlags of /proc/self/smaps.
bool has_huge_page_flag(const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::ifstream file("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') {
      is_inside = begin <= address && address < end;
    } else if (is_inside && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

bool has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  return file.good();
}

TEST(HugePages, HasSmallAndLargeBlocks) {
  if (!has_huge_pages()) GTEST_SKIP() << "this kernel has no huge pages";
  HugePages pages;
  for (const std::size_t bytes : {64UL, 1UL << 20, 3UL << 20, 40UL << 20}) {
    EXPECT_TRUE(has_huge_page_flag(pages.allocate(bytes))) << bytes;
  }
}

TEST(HugePages, HasBlocksThatDoNotOverlap) {
  HugePages pages;
  std::mt19937 random(1);
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (int i = 0; i < 200; ++i) {
    const std::size_t bytes = 64 * (1 + random() % (1U << random() % 17));
    auto* const block = static_cast<unsigned char*>(pages.allocate(bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0);
    std::memset(block, i, bytes);
    blocks.emplace_back(block, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, bytes] = blocks[i];
    EXPECT_EQ(block[0], i);
    EXPECT_EQ(block[bytes - 1], i);
  }
}

// Six blocks of 5 MiB leave 2 MiB of a chunk; the seventh begins a new one.
TEST(HugePages, FillsTheEndsOfChunks) {
  HugePages pages;
  constexpr std::size_t kMiB = 1 << 20;
  std::vector<std::uintptr_t> large;
  for (int i = 0; i < 7; ++i) {
    large.push_back(reinterpret_cast<std::uintptr_t>(pages.allocate(5 * kMiB)));
  }
  const auto small = reinterpret_cast<std::uintptr_t>(pages.allocate(2 * kMiB));
  EXPECT_EQ(small, large[5] + 5 * kMiB) << "after six blocks";
  EXPECT_NE(large[6], large[5] + 5 * kMiB);
}

TEST(HugePages, HasNoBlockIfTheSystemHasNoMemory) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's malloc aborts";
  EXPECT_EQ(HugePages().allocate(std::size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace evenkeel::memory
