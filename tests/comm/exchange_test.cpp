// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/exchange.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "comm/exchange_values.h"
#include "comm/rank_threads.h"
#include "evenkeel/comm/engine_gloo.h"

namespace evenkeel::comm {
namespace {

using testing::tree_over_ranks;
using testing::values_of;
using Bounds = std::vector<std::int64_t>;

/// Calls `body` with an exchange of each rank, all of this process. No rank disconnects before all
/// have ended, as in a run: another one may still connect.
void exchange_over(int ranks, const std::function<void(int, Exchange&)>& body, int per_host = 1) {
  const auto store = testing::memory_store();
  std::vector<std::unique_ptr<Exchange>> exchanges(static_cast<std::size_t>(ranks));
  testing::for_each_rank(ranks, [&](int rank) {
    const at::NoGradGuard no_grad;
    auto& exchange = exchanges[static_cast<std::size_t>(rank)];
    exchange = std::make_unique<Exchange>(
        connect_gloo(store, rank, ranks, "127.0.0.1", "", std::chrono::seconds(60)), per_host);
    body(rank, *exchange);
  });
}

/// reduce_scatter in place, then all_gather: all ranks have the sum.
void expect_sum_on_all_ranks(int ranks, const Bounds& bounds, at::ScalarType dtype,
                             int per_host = 1) {
  const auto expected = tree_over_ranks(ranks, bounds.back(), dtype);
  const auto check = [&](int rank, Exchange& exchange) {
    const auto whole = values_of(rank, bounds.back(), dtype);
    const auto begin = bounds[static_cast<std::size_t>(rank)];
    const auto end = bounds[static_cast<std::size_t>(rank) + 1];
    const auto part = whole.narrow(0, begin, end - begin);
    exchange.reduce_scatter(whole, bounds, part);
    EXPECT_TRUE(at::equal(part, expected.narrow(0, begin, end - begin))) << "rank " << rank;
    exchange.all_gather(whole, bounds);
    EXPECT_TRUE(at::equal(whole, expected)) << "rank " << rank << " of " << ranks;
  };
  exchange_over(ranks, check, per_host);
}

TEST(Exchange, SumsInTheOrderOfTheTree) {
  expect_sum_on_all_ranks(2, {0, 3, 7}, at::kFloat);
  expect_sum_on_all_ranks(4, {0, 1000, 2000, 3000, 4000}, at::kFloat);
  expect_sum_on_all_ranks(3, {0, 10, 20, 31}, at::kDouble);
}

TEST(Exchange, TakesPiecesOfAnyLength) {
  expect_sum_on_all_ranks(4, {0, 0, 5, 5, 6}, at::kFloat);  // ranks 0 and 2 have none
  expect_sum_on_all_ranks(2, {0, 0, 0}, at::kFloat);
}

// 4 MB at once: 1,048,576 values of float32 for two ranks.
TEST(Exchange, CutsLongPiecesIntoChunks) {
  expect_sum_on_all_ranks(2, {0, 2'200'000, 3'300'001}, at::kFloat);
  // Of four ranks: 349,525 values. The pieces have 0, 3, 2 and 3 chunks.
  expect_sum_on_all_ranks(4, {0, 0, 800'000, 1'200'000, 1'900'001}, at::kFloat);
}

TEST(Exchange, GathersChunksOfBfloat16) {
  const Bounds bounds{0, 1'500'000, 1'500'000, 2'600'000, 2'600'001};
  const auto expected = values_of(9, bounds.back(), at::kBFloat16);
  exchange_over(4, [&](int rank, Exchange& exchange) {
    const auto whole = at::zeros({bounds.back()}, at::kBFloat16);
    const auto first = bounds[static_cast<std::size_t>(rank)];
    const auto count = bounds[static_cast<std::size_t>(rank) + 1] - first;
    whole.narrow(0, first, count).copy_(expected.narrow(0, first, count));
    exchange.all_gather(whole, bounds);
    EXPECT_TRUE(at::equal(whole, expected)) << "rank " << rank;
  });
}

TEST(Exchange, DoesNotChangeThePiecesOfOthers) {
  exchange_over(2, [](int rank, Exchange& exchange) {
    const auto whole = values_of(rank, 100, at::kFloat);
    const auto part = at::zeros({50}, at::kFloat);
    exchange.reduce_scatter(whole, {0, 50, 100}, part);
    EXPECT_TRUE(at::equal(whole, values_of(rank, 100, at::kFloat)));
    EXPECT_TRUE(at::equal(part, tree_over_ranks(2, 100, at::kFloat).narrow(0, 50 * rank, 50)));
  });
}

TEST(Exchange, GathersBytes) {
  exchange_over(3, [](int rank, Exchange& exchange) {
    const auto whole = at::zeros({6}, at::kByte);
    whole.narrow(0, 2 * rank, 2).fill_(rank + 1);
    exchange.all_gather(whole, {0, 2, 4, 6});
    for (int i = 0; i < 6; ++i) EXPECT_EQ(whole.const_data_ptr<std::uint8_t>()[i], i / 2 + 1);
  });
}

TEST(TwoLevels, GiveTheBitsOfOneLevel) {
  expect_sum_on_all_ranks(4, {0, 1000, 2000, 3001, 4000}, at::kFloat, 2);
  expect_sum_on_all_ranks(6, {0, 7, 7, 20, 21, 30, 31}, at::kDouble, 2);  // rank 1 has no piece
  expect_sum_on_all_ranks(8, {0, 0, 5, 5, 6, 9, 20, 20, 31}, at::kFloat, 4);
  expect_sum_on_all_ranks(8, {0, 10, 20, 30, 40, 50, 60, 70, 80}, at::kFloat, 2);
  expect_sum_on_all_ranks(4, {0, 0, 800'000, 1'200'000, 1'900'001}, at::kFloat, 2);  // chunks
  // A machine sums 2,097,152 values of each piece at a time.
  expect_sum_on_all_ranks(4, {0, 2'200'000, 2'200'000, 4'500'000, 4'500'001}, at::kFloat, 2);
}

TEST(TwoLevels, DoNotChangeThePiecesOfOtherRanks) {
  const auto check = [](int rank, Exchange& exchange) {
    const auto whole = values_of(rank, 100, at::kFloat);
    const auto part = at::zeros({25}, at::kFloat);
    exchange.reduce_scatter(whole, {0, 25, 50, 75, 100}, part);
    EXPECT_TRUE(at::equal(whole, values_of(rank, 100, at::kFloat)));
    EXPECT_TRUE(at::equal(part, tree_over_ranks(4, 100, at::kFloat).narrow(0, 25 * rank, 25)));
  };
  exchange_over(4, check, 2);
}

TEST(RanksPerHost, IsThatOfMachinesWithEqualPowersOfTwo) {
  EXPECT_EQ(ranks_per_host({"a", "a", "b", "b"}), 2);
  EXPECT_EQ(ranks_per_host({"a", "a", "b", "b", "c", "c"}), 2);
  EXPECT_EQ(ranks_per_host({"a", "a", "a", "a"}), 1) << "one machine";
  EXPECT_EQ(ranks_per_host({"a", "b"}), 1);
  EXPECT_EQ(ranks_per_host({"a", "b", "a", "b"}), 1) << "not consecutive";
  EXPECT_EQ(ranks_per_host({"a", "a", "b", "b", "a", "a"}), 1) << "not one block a machine";
  EXPECT_EQ(ranks_per_host({"a", "a", "b"}), 1) << "unequal";
  EXPECT_EQ(ranks_per_host({"a", "a", "b", "c"}), 1);
  EXPECT_EQ(ranks_per_host({"a", "a", "a", "b", "b", "b"}), 1) << "not a subtree";
}

}  // namespace
}  // namespace evenkeel::comm
