// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/memory/caching_allocator.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "evenkeel/memory/size_class.h"
#include "support/sanitizers.h"

namespace evenkeel::memory {
namespace {

class CachingAllocator : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { install_caching_allocator(); }

  static at::Tensor bytes(std::int64_t count) { return at::empty({count}, at::kByte); }
};

TEST_F(CachingAllocator, ReusesAFreedBlock) {
  const auto* const first = bytes(4'000'000).const_data_ptr();
  EXPECT_EQ(bytes(4'000'000).const_data_ptr(), first);
  EXPECT_EQ(bytes(3'999'999).const_data_ptr(), first) << "the same class";
}

TEST_F(CachingAllocator, GivesEachBlockOnce) {
  const auto first = bytes(5000).fill_(1);
  const auto second = bytes(5000).fill_(2);
  EXPECT_TRUE(first.eq(1).all().item<bool>());
  EXPECT_TRUE(second.eq(2).all().item<bool>());
}

TEST_F(CachingAllocator, ReservesNothingInTheSteadyState) {
  const auto step = [] { return at::ones({512, 512}).matmul(at::ones({512, 512})).sum(); };
  step();
  const auto before = reserved_bytes();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(reserved_bytes(), before);
  EXPECT_GT(before, 0);
}

TEST_F(CachingAllocator, AlignsToACacheLine) {
  for (const std::int64_t count : {1, 65, 5000, 3 << 20}) {
    const auto tensor = bytes(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64, 0) << count;
  }
}

TEST_F(CachingAllocator, WritesToTheLastByteOfLargeAndSmallBlocks) {
  for (const std::int64_t count : {1, 64, 65, 4097, (2 << 20) - 64, 2 << 20, (2 << 20) + 1}) {
    EXPECT_EQ(bytes(count).fill_(7)[count - 1].item<int>(), 7) << count;
  }
}

// The size class of 72 bytes ends within a cache line.
TEST_F(CachingAllocator, HasNoAccessibleBytesAroundABlock) {
  if (!is_sanitized()) GTEST_SKIP() << "not compiled with AddressSanitizer";
  for (const std::int64_t count : {1, 72, 4096, 5000, 3 << 20, 9 << 20}) {
    auto tensor = bytes(count);
    const auto* const data = static_cast<const std::byte*>(tensor.const_data_ptr());
    EXPECT_FALSE(is_out_of_bounds(data)) << count;
    EXPECT_FALSE(is_out_of_bounds(data + count - 1)) << count;
    EXPECT_TRUE(is_out_of_bounds(data + count)) << count;
    EXPECT_TRUE(is_out_of_bounds(data - 1)) << count;
    tensor.reset();
    EXPECT_TRUE(is_out_of_bounds(data)) << count << ": freed";
  }
}

// oneDNN asks through raw_allocate(), which aborts unless the context is the data itself.
TEST_F(CachingAllocator, ServesRawAllocations) {
  auto* const allocator = c10::GetCPUAllocator();
  const auto before = allocated_bytes();
  void* const raw = allocator->raw_allocate(100);
  ASSERT_NE(raw, nullptr);
  EXPECT_EQ(allocated_bytes(), before + class_bytes(size_class(100)));
  allocator->raw_deallocate(raw);
  EXPECT_EQ(allocated_bytes(), before);
}

TEST_F(CachingAllocator, AllocatesNothingForAnEmptyTensor) {
  const auto before = allocated_bytes();
  const auto empty = at::empty({0, 5});
  EXPECT_EQ(empty.const_data_ptr(), nullptr);
  EXPECT_EQ(allocated_bytes(), before);
}

// 2^60 bytes are beyond every address, 2^46 beyond every machine's memory and swap. The latter the
// sanitizer's malloc does not refuse: it aborts.
const std::vector<int> kTooLarge = is_sanitized() ? std::vector<int>{60} : std::vector<int>{60, 46};

TEST_F(CachingAllocator, ThrowsOutOfMemoryWithTheSize) {
  const auto before = reserved_bytes();
  for (const int power : kTooLarge) {
    try {
      bytes(std::int64_t{1} << power);
      ADD_FAILURE() << "got 2^" << power << " bytes";
    } catch (const c10::OutOfMemoryError& error) {
      const std::string start = "[memory] the system has no block of ";
      EXPECT_EQ(std::string(error.what_without_backtrace()).substr(0, start.size()), start);
    }
  }
  EXPECT_EQ(reserved_bytes(), before);
}

TEST_F(CachingAllocator, FreesFromAnotherThread) {
  auto tensor = bytes(123'456);
  const auto* const data = tensor.const_data_ptr();
  std::thread([moved = std::move(tensor)] {}).join();
  EXPECT_EQ(bytes(123'456).const_data_ptr(), data);
}

TEST_F(CachingAllocator, CountsAllocatedBytesAndTheirPeak) {
  const auto before = allocated_bytes();
  reset_peak_stats();
  const auto block = class_bytes(size_class(1'000'000));
  {
    const auto first = bytes(1'000'000);
    const auto second = bytes(1'000'000);
    EXPECT_EQ(allocated_bytes(), before + 2 * block);
  }
  const auto third = bytes(1'000'000);
  EXPECT_EQ(allocated_bytes(), before + block);
  EXPECT_EQ(peak_allocated_bytes(), before + 2 * block);
  reset_peak_stats();
  EXPECT_EQ(peak_allocated_bytes(), before + block);
  EXPECT_LE(peak_allocated_bytes(), reserved_bytes());
}

}  // namespace
}  // namespace evenkeel::memory
