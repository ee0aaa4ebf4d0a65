// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "kernels/cuda_emulated/checker.h"
#include "kernels/cuda_emulated/emulator_kernels.cuh"
#include "kernels/cuda_emulated/launch.h"

// The emulator itself, on small kernels: right ones give what a card gives, and each kind of
// mistake is an error with its line.
namespace evenkeel::testing {
namespace {

/// Memory that kernels may access.
class Buffer {
 public:
  explicit Buffer(std::size_t count) : values_(count, std::nanf("")) {
    emulated::checker().add_tensor(values_.data(), 4 * count);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { emulated::checker().remove_tensor(values_.data()); }
  float* data() { return values_.data(); }
  std::vector<float>& values() { return values_; }

 private:
  std::vector<float> values_;
};

/// The text of an error, with N for the numbers of lines.
std::string text_of(cudaError_t error) {
  static const std::regex line(R"((\.cuh?):\d+)");
  return std::regex_replace(cudaGetErrorString(error), line, "$1:N");
}

/// The text of the error that a mistake in reverse_kernel() causes, after its line and kernel.
std::string message_of(Mistake mistake) {
  Buffer x(2 * kThreads), y(2 * kThreads);
  std::iota(x.values().begin(), x.values().end(), 0.0F);
  const auto text = text_of(reverse(mistake, x.data(), y.data(), 2, emulated::current_stream()));
  const std::string start = "emulator_kernels.cu:N: reverse_kernel, ";
  return text.starts_with(start) ? text.substr(start.size()) : text;
}

class Order {
 public:
  explicit Order(int number) {
    current = number;
    emulated::card().order = [] { return current; };
  }
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;
  ~Order() { current = 1; }

 private:
  inline static int current = 1;
};

TEST(CudaEmulator, RunsThreadsInAnyOrder) {
  for (const int number : {1, 2, 3, 4}) {
    const Order order(number);
    Buffer x(3 * kThreads), y(3 * kThreads);
    std::iota(x.values().begin(), x.values().end(), 0.0F);
    ASSERT_EQ(reverse(Mistake::none, x.data(), y.data(), 3, emulated::current_stream()),
              cudaSuccess);
    for (std::size_t i = 0; i < 3 * kThreads; ++i) {
      EXPECT_EQ(y.values()[i], x.values()[i / kThreads * kThreads + kThreads - 1 - i % kThreads]);
    }
  }
}

TEST(CudaEmulator, AddsLanesAndWarps) {
  for (const int number : {1, 2, 3}) {
    const Order order(number);
    Buffer x(1024), y(1024);
    std::iota(x.values().begin(), x.values().end(), 0.0F);
    for (const int threads : {32, 96, 1024}) {
      ASSERT_EQ(sum(x.data(), y.data(), threads, 4096, false, emulated::current_stream()),
                cudaSuccess);
      EXPECT_EQ(y.values()[0], static_cast<float>(threads * (threads - 1) / 2));
      EXPECT_EQ(y.values()[static_cast<std::size_t>(threads) - 1], y.values()[0]);
    }
  }
}

#ifndef __SANITIZE_ADDRESS__  // which ends the program at a wrong index
TEST(CudaEmulator, FindsIndicesOutsideOfMemory) {
  EXPECT_EQ(message_of(Mistake::index_after_end),
            "block (1, 0, 0), thread (63, 0, 0): reads 4 bytes, 0 bytes after the end of a tensor "
            "of 512 bytes");
  EXPECT_EQ(message_of(Mistake::index_before_start),
            "block (0, 0, 0), thread (0, 0, 0): reads 4 bytes, 4 bytes before the start of a "
            "tensor of 512 bytes");
  EXPECT_EQ(
      message_of(Mistake::local_of_another_thread),
      "block (0, 0, 0), thread (0, 0, 0): reads 4 bytes of a local variable of another thread");
}

TEST(CudaEmulator, FindsRaces) {
  EXPECT_EQ(message_of(Mistake::index_after_shared_end),
            "block (0, 0, 0), thread (1, 0, 0): writes shared values where thread 0 has written at "
            "emulator_kernels.cu:N without a barrier between them");
  EXPECT_EQ(message_of(Mistake::missing_barrier),
            "block (0, 0, 0), thread (0, 0, 0): reads shared values, byte 252, which no thread of "
            "the block has written");
  EXPECT_EQ(message_of(Mistake::missing_warp_barrier),
            "block (0, 0, 0), thread (1, 0, 0): writes shared values where thread 0 has read at "
            "emulator_kernels.cu:N without a barrier between them");
  EXPECT_EQ(message_of(Mistake::shuffle_for_barrier),
            "block (0, 0, 0), thread (0, 0, 0): reads shared values where thread 1 has written at "
            "emulator_kernels.cu:N without a barrier between them");
  EXPECT_EQ(message_of(Mistake::race_of_blocks),
            "block (1, 0, 0), thread (0, 0, 0): writes a tensor where another block of the launch "
            "has written at emulator_kernels.cu:N without a barrier between them");
  EXPECT_EQ(message_of(Mistake::write_by_all_threads),
            "block (0, 0, 0), thread (1, 0, 0): writes shared one where thread 0 has written at "
            "emulator_kernels.cu:N without a barrier between them");
}

TEST(CudaEmulator, FindsSharedMemoryThatNobodyHasWritten) {
  EXPECT_EQ(message_of(Mistake::unwritten_shared),
            "block (0, 0, 0), thread (0, 0, 0): reads shared other, byte 0, which no thread of the "
            "block has written");
}

TEST(CudaEmulator, FindsVectorsThatAreNotAligned) {
  EXPECT_EQ(message_of(Mistake::misaligned_vector),
            "block (0, 0, 0), thread (0, 0, 0): accesses memory that is aligned to 4 bytes with 16 "
            "bytes at once");
}
#endif

TEST(CudaEmulator, FindsBarriersThatNotAllThreadsReach) {
  EXPECT_EQ(message_of(Mistake::divergent_barrier),
            "block (0, 0, 0), thread (0, 0, 0): waits in __syncthreads() at emulator_kernels.cu:N "
            "for thread 40, which waits in __syncthreads() at emulator_kernels.cu:N");
  EXPECT_EQ(message_of(Mistake::barrier_after_end),
            "block (0, 0, 0), thread (0, 0, 0): waits in __syncthreads() at emulator_kernels.cu:N "
            "for thread 50, which has ended");
}

TEST(CudaEmulator, FindsLanesThatDoNotExchange) {
  EXPECT_EQ(message_of(Mistake::lane_not_arriving),
            "block (0, 0, 0), thread (0, 0, 0): waits in __shfl_down_sync() at "
            "emulator_kernels.cu:N for thread 7, which has ended");
  EXPECT_EQ(message_of(Mistake::lane_not_in_mask),
            "block (0, 0, 0), thread (16, 0, 0): calls __shfl_sync() with mask 0x0000ffff, in "
            "which its lane 16 is missing");
  EXPECT_EQ(message_of(Mistake::source_not_in_mask),
            "block (0, 0, 0), thread (0, 0, 0): reads lane 20 with __shfl_sync(), which its mask "
            "0x0000ffff lacks");
  EXPECT_EQ(message_of(Mistake::different_masks),
            "block (0, 0, 0), thread (0, 0, 0): waits in __shfl_xor_sync() at "
            "emulator_kernels.cu:N for thread 16, which has ended");
}

TEST(CudaEmulator, RefusesWhatACardRefuses) {
  const auto launched = [](dim3 grid, dim3 block) {
    return text_of(launch_empty(grid, block, emulated::current_stream()));
  };
  EXPECT_EQ(launched({1, 65535, 1}, 32), "cudaSuccess");
  EXPECT_EQ(launched({1, 65536, 1}, 32),
            "emulator_kernels.cu:N: the launch is refused: grid (1, 65536, 1) must be at least 1, "
            "and y and z at most 65535");
  EXPECT_EQ(launched({0, 1, 1}, 32),
            "emulator_kernels.cu:N: the launch is refused: grid (0, 1, 1) must be at least 1, and "
            "y and z at most 65535");
  EXPECT_EQ(launched(1, {1025, 1, 1}),
            "emulator_kernels.cu:N: the launch is refused: block (1025, 1, 1) must have 1 to 1024 "
            "threads, and z at most 64");
  EXPECT_EQ(launched(1, {1, 1, 65}),
            "emulator_kernels.cu:N: the launch is refused: block (1, 1, 65) must have 1 to 1024 "
            "threads, and z at most 64");
  EXPECT_EQ(
      text_of(launch_empty(1, 32, nullptr)),
      "emulator_kernels.cu:N: the launch is refused: it is on another stream than the current one");
  EXPECT_EQ(message_of(Mistake::too_many_threads),
            "emulator_kernels.cu: bounded_kernel, block (0, 0, 0), thread (0, 0, 0): has 64 "
            "threads in its block, but __launch_bounds__(32)");
}

TEST(CudaEmulator, LimitsSharedMemory) {
  Buffer x(1024), y(1024);
  const auto with = [&](std::size_t bytes, bool allow) {
    return text_of(sum(x.data(), y.data(), 32, bytes, allow, emulated::current_stream()));
  };
  EXPECT_EQ(with(50'000, false),
            "emulator_kernels.cu:N: the launch is refused: 50000 bytes of dynamic shared memory; "
            "49152 at most, until cudaFuncSetAttribute() allows more");
  EXPECT_EQ(with(50'000, true), "cudaSuccess");
  EXPECT_EQ(with(227 * 1024 - 8, true),
            "emulator_kernels.cu:N: sum_kernel, block (0, 0, 0), thread (0, 0, 0): needs 232704 "
            "bytes of shared memory; 232448 at most");
  EXPECT_EQ(with(227 * 1024 + 1, true), "cudaErrorInvalidValue");
}

}  // namespace
}  // namespace evenkeel::testing
