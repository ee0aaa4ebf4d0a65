// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "comm/exchange_values.h"
#include "comm/fake_nccl.h"
#include "comm/rank_threads.h"
#include "evenkeel/comm/engine_gloo.h"
#include "evenkeel/comm/engine_nccl.h"
#include "evenkeel/comm/exchange.h"
#include "evenkeel/comm/staged_exchange.h"

// The exchanges of GPU memory, on tensors in CPU memory.
namespace evenkeel::comm {
namespace {

using Limits = std::vector<std::int64_t>;  // of the pieces of ranks

constexpr std::int64_t kSmallBytes = 256;  // of a chunk: pieces have several

/// An exchange of each rank: of NCCL between threads, or of Gloo.
std::unique_ptr<Exchange> device_exchange(const Store& store, int rank, int ranks, bool is_nccl,
                                          int per_host) {
  constexpr std::chrono::seconds kTimeout{60};
  const LevelOptions options{.chunk_bytes = kSmallBytes, .sum = RowSum::tensor_operations};
  if (!is_nccl) {
    return std::make_unique<Exchange>(connect_gloo(store, rank, ranks, "127.0.0.1", "", kTimeout),
                                      per_host, options);
  }
  return std::make_unique<Exchange>(
      connect_nccl(testing::fake_nccl(), store,
                   {.rank = rank, .ranks = ranks, .device = at::kCPU, .timeout = kTimeout}),
      per_host, options);
}

struct DeviceCase {
  bool is_nccl;
  int ranks;
  int per_host = 1;
};

/// Calls `body` with the exchange of each rank; no rank disconnects before all have ended.
void over_ranks(const DeviceCase& each, const std::function<void(int, Exchange&)>& body) {
  const auto store = testing::memory_store();
  std::vector<std::unique_ptr<Exchange>> all(static_cast<std::size_t>(each.ranks));
  testing::for_each_rank(each.ranks, [&](int rank) {
    const at::NoGradGuard no_grad;
    auto& own = all[static_cast<std::size_t>(rank)];
    own = device_exchange(store, rank, each.ranks, each.is_nccl, each.per_host);
    body(rank, *own);
  });
}

/// Pieces of different lengths; some are empty, the last one is long.
Limits uneven(int ranks) {
  Limits limits{0};
  for (int rank = 1; rank < ranks; ++rank) limits.push_back(limits.back() + (rank % 2) * 37 * rank);
  limits.push_back(limits.back() + 1001);
  return limits;
}

std::int64_t length_of(const Limits& limits, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return limits[at + 1] - limits[at];
}

/// reduce_scatter and all_gather give every rank the sum in the order of the tree.
template <typename AnyExchange>
void expect_tree(AnyExchange& exchange, int rank, int ranks, const Limits& limits,
                 at::ScalarType dtype) {
  const auto expected = testing::tree_over_ranks(ranks, limits.back(), dtype);
  const auto begin = limits[static_cast<std::size_t>(rank)];
  const auto count = length_of(limits, rank);
  const auto whole = testing::values_of(rank, limits.back(), dtype);
  const auto other = at::zeros({count}, dtype);
  exchange.reduce_scatter(whole, limits, other);
  EXPECT_TRUE(at::equal(other, expected.narrow(0, begin, count))) << "rank " << rank;
  EXPECT_TRUE(at::equal(whole, testing::values_of(rank, limits.back(), dtype))) << "unchanged";
  const auto part = whole.narrow(0, begin, count);
  exchange.reduce_scatter(whole, limits, part);
  EXPECT_TRUE(at::equal(part, other)) << "in place, rank " << rank;
  exchange.all_gather(whole, limits);
  EXPECT_TRUE(at::equal(whole, expected)) << "rank " << rank << " of " << ranks;
}

template <typename AnyExchange>
void expect_gather(AnyExchange& exchange, int rank, const Limits& limits, at::ScalarType dtype) {
  const auto expected = testing::values_of(9, limits.back(), dtype);
  const auto whole = at::zeros({limits.back()}, dtype);
  const auto begin = limits[static_cast<std::size_t>(rank)];
  whole.narrow(0, begin, length_of(limits, rank))
      .copy_(expected.narrow(0, begin, length_of(limits, rank)));
  exchange.all_gather(whole, limits);
  EXPECT_TRUE(at::equal(whole, expected)) << "rank " << rank;
}

class DeviceExchange : public ::testing::TestWithParam<DeviceCase> {};

TEST_P(DeviceExchange, SumsInTheOrderOfTheTree) {
  over_ranks(GetParam(), [&](int rank, Exchange& exchange) {
    const int ranks = GetParam().ranks;
    for (const auto dtype : {at::kFloat, at::kDouble})
      expect_tree(exchange, rank, ranks, uneven(ranks), dtype);
    expect_tree(exchange, rank, ranks, Limits(static_cast<std::size_t>(ranks) + 1, 0), at::kFloat);
  });
}

TEST_P(DeviceExchange, GathersEveryDtype) {
  over_ranks(GetParam(), [&](int rank, Exchange& exchange) {
    for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16})
      expect_gather(exchange, rank, uneven(GetParam().ranks), dtype);
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, DeviceExchange,
                         ::testing::Values(DeviceCase{false, 2}, DeviceCase{false, 3},
                                           DeviceCase{false, 4}, DeviceCase{false, 4, 2},
                                           DeviceCase{true, 1}, DeviceCase{true, 2},
                                           DeviceCase{true, 3}, DeviceCase{true, 4},
                                           DeviceCase{true, 4, 2}, DeviceCase{true, 8, 4}));

class Staged : public ::testing::TestWithParam<int> {};

TEST_P(Staged, GivesTheSumsAndValuesOfTheExchange) {
  over_ranks({.is_nccl = false, .ranks = GetParam()}, [&](int rank, Exchange& exchange) {
    StagedExchange staged(exchange, kSmallBytes);
    const auto limits = uneven(GetParam());
    for (const auto dtype : {at::kFloat, at::kDouble})
      expect_tree(staged, rank, GetParam(), limits, dtype);
    for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16})
      expect_gather(staged, rank, limits, dtype);
    expect_tree(staged, rank, GetParam(), Limits(static_cast<std::size_t>(GetParam()) + 1, 0),
                at::kFloat);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Staged, ::testing::Values(2, 3, 4));

TEST(Nccl, NamesTheCallThatFailed) {
  auto library = testing::fake_nccl();
  library.group_end = [] { return 4; };
  const auto backend = connect_nccl(library, testing::memory_store(), {.device = at::kCPU});
  backend->startCoalescing();
  try {
    backend->endCoalescing();
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "NCCL: ncclGroupEnd: invalid argument");
  }
}

TEST(Nccl, IsNotInAProgramForCpus) {
  if (nccl_library() != nullptr) GTEST_SKIP() << "a LibTorch with CUDA";
  EXPECT_EQ(nccl_version(), "");
}

}  // namespace
}  // namespace evenkeel::comm
