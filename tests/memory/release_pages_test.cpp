// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/release_pages.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace evenkeel::memory {
namespace {

/// The pages of a tensor that are in memory; the last one may have other data, too.
std::size_t resident_pages(const at::Tensor& values) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(values.data_ptr()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(values.data_ptr()) + values.nbytes();
  std::vector<unsigned char> states((end - begin + page - 1) / page);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), end - begin, states.data()), 0);
  std::size_t count = 0;
  for (const auto state : states) count += state & 1U;
  return count;
}

TEST(ReleasePages, LeavesTheRestOfABufferAlone) {
  const auto all = at::ones({1 << 20}, at::kFloat);  // 1,024 pages of 4 KiB
  const auto before = resident_pages(all);
  release_pages(all.narrow(0, 1000, 500'000));
  EXPECT_LE(resident_pages(all) + 480, before);
  EXPECT_TRUE(all.narrow(0, 0, 1000).equal(at::ones({1000}, at::kFloat)));
  const auto rest = all.narrow(0, 501'000, all.numel() - 501'000);
  EXPECT_TRUE(rest.equal(at::ones_like(rest)));
  all.fill_(3);  // gets memory again
  EXPECT_EQ(resident_pages(all), before);
}

TEST(ReleasePages, KeepsWhatFillsNoPage) {
  const auto all = at::ones({3000}, at::kFloat);
  release_pages(all.narrow(0, 10, 100));
  release_pages(all.narrow(0, 10, 0));
  EXPECT_TRUE(all.equal(at::ones_like(all)));
}

}  // namespace
}  // namespace evenkeel::memory
