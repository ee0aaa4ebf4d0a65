// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/ranks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "plan/ranks_model.h"

namespace evenkeel {
namespace {

using plan::Shard;

constexpr double kGigabyte = 1e9, kMilli = 1e-3, kPercent = 0.01, kMega = 1e6;

config::Config config_of(const std::string& preset, std::vector<std::string> sets = {}) {
  return config::resolve({.preset = preset, .files = {}, .scheme = {}, .sets = std::move(sets)});
}

plan::RankPlan plan_on(const config::Config& config, const plan::Hardware& hardware,
                       std::int64_t ranks, std::int64_t hosts = 0) {
  return plan::rank_plan(config, hardware, 257, ranks, hosts);  // presets have their vocabulary
}

plan::Hardware h200() {
  return plan::built_in_hardware("h200");
}

/// The value in `unit`, rounded as a page prints it.
int rounded(double value, double unit) {
  return static_cast<int>(std::lround(value / unit));
}

TEST(RankPlan, HasTheMemoryOfTheModel) {
  for (const auto& row : kMemoryRows) {
    const auto config = config_of(row.preset, {"train.micro_batch=1"});
    const auto plan = plan_on(config, h200(), row.ranks);
    const auto where = text(row.preset, " on ", row.ranks);
    const auto bytes = [&](Shard shard) { return plan.at(shard).memory.total(); };
    EXPECT_EQ(rounded(bytes(Shard::none), kGigabyte), row.none) << where;
    EXPECT_EQ(rounded(bytes(Shard::optimizer), kGigabyte), row.optimizer) << where;
    // The model has buffers of an exchange on one rank, too.
    const double buffers = row.ranks == 1 ? 2 * h200().bucket_bytes : 0;
    EXPECT_EQ(rounded(bytes(Shard::gradients) + buffers, kGigabyte), row.gradients) << where;
    const auto& used = plan.at(Shard::optimizer);
    EXPECT_NEAR(used.memory.activations / kGigabyte, row.activations, 0.05) << where;
    EXPECT_LE(used.max_micro_batch, row.fit_h200) << where;
    const auto h100 = plan_on(config, plan::built_in_hardware("h100"), row.ranks);
    EXPECT_LE(h100.at(Shard::optimizer).max_micro_batch, row.fit_h100) << where;
    const auto block = config_of(row.preset, {"train.micro_batch=1", "model.recompute=block"});
    const auto blocks = plan_on(block, h200(), row.ranks);
    EXPECT_NEAR(blocks.at(Shard::none).memory.activations / kGigabyte, row.activations_block, 0.05)
        << where;
  }
}

TEST(RankPlan, NamesTheLargestMicroBatchThatFits) {
  for (const std::string recompute : {"none", "block"}) {
    const auto plan_of = [&](std::int64_t sequences, std::int64_t micro_batches) {
      const auto config =
          config_of("moe_1b_7b", {text("train.micro_batch=", sequences),
                                  text("train.batch=", 8 * sequences * micro_batches),
                                  "model.recompute=" + recompute});
      return plan_on(config, h200(), 8).at(Shard::optimizer);
    };
    const auto most = plan_of(1, 500).max_micro_batch;
    EXPECT_GT(most, 1) << recompute;
    EXPECT_TRUE(plan_of(most, 2).fits) << recompute;
    EXPECT_FALSE(plan_of(most + 1, 2).fits) << recompute;
    EXPECT_EQ(plan_of(2, 500).max_micro_batch, most) << recompute;
  }
  // No more than a gradient shard has.
  const auto few = config_of("151m", {"train.micro_batch=1", "train.batch=16"});
  EXPECT_EQ(plan_on(few, h200(), 8).at(Shard::none).max_micro_batch, 2);
}

TEST(RankPlan, CountsTheTimeOfRecomputation) {
  const auto plan_of = [](const std::string& recompute) {
    return plan_on(config_of("550m", {"train.micro_batch=4", "model.recompute=" + recompute}),
                   h200(), 1);
  };
  const auto none = plan_of("none"), block = plan_of("block");
  const auto& slow = block.at(Shard::none);
  EXPECT_NEAR(slow.step.compute / none.at(Shard::none).step.compute, 4.0 / 3, 1e-12);
  EXPECT_NEAR(block.mfu(slow), block.mfu_alone * slow.step.efficiency() * 3 / 4, 1e-12);
}

TEST(RankPlan, HasTheMicroBatchOfAGpu) {
  const auto config = config_of("151m");
  auto machine = h200();
  EXPECT_EQ(plan_on(config, machine, 8).plan.micro_batch_size, 65536 / 4096);
  machine.is_gpu = false;
  EXPECT_EQ(plan_on(config, machine, 8).plan.micro_batch_size, 1);
}

void expect_steps(const plan::Hardware& hardware, const std::vector<StepRow>& rows) {
  for (const auto& row : rows) {
    const auto plan = plan_on(config_of(row.preset, {"train.micro_batch=4"}), hardware, row.ranks);
    const auto where = text(row.preset, " on ", row.ranks);
    const auto& step = plan.at(Shard::optimizer).step;
    EXPECT_EQ(rounded(step.compute, kMilli), row.compute) << where;
    EXPECT_EQ(rounded(step.reduce_scatter, kMilli), row.reduce_scatter) << where;
    EXPECT_EQ(rounded(step.all_gather, kMilli), row.all_gather) << where;
    EXPECT_EQ(rounded(step.exposed, kMilli), row.exposed) << where;
    EXPECT_EQ(rounded(step.total(), kMilli), row.total) << where;
    EXPECT_EQ(rounded(step.efficiency(), kPercent), row.efficiency) << where;
    EXPECT_EQ(rounded(plan.mfu_alone * step.efficiency(), kPercent), row.mfu) << where;
    EXPECT_NEAR(plan.step_tokens / step.total() / kMega, row.tokens, 0.005001) << where;
  }
}

TEST(RankPlan, HasTheStepsOfTheModelOnFastNetworks) {
  expect_steps(h200(), kStepRows);
}

TEST(RankPlan, HasTheStepsOfTheModelOnSlowNetworks) {
  auto slow = h200();
  slow.between_hosts_bandwidth = 0.9 * 25e9 / 8 / 8;
  expect_steps(slow, kSlowStepRows);
}

TEST(RankPlan, FindsTheLargestEfficientNumberOfRanks) {
  const auto ranks = [](const char* preset, double efficiency) {
    return plan::max_efficient_ranks(config_of(preset, {"train.micro_batch=4"}), h200(), 257,
                                     Shard::optimizer, efficiency);
  };
  EXPECT_EQ(ranks("7b", 0.9), 1024);
  EXPECT_EQ(ranks("moe_1b_7b", 0.9), 256);
  EXPECT_EQ(ranks("moe_1b_7b", 0.8), 512);
  EXPECT_EQ(ranks("moe_1b_7b", 1.01), 1);
}

// One rank exchanges nothing, whatever is sharded.
TEST(RankPlan, OfOneRankHasNoExchange) {
  const auto plan = plan_on(config_of("151m"), h200(), 1);
  for (const auto shard : plan::kShards) {
    EXPECT_EQ(plan.at(shard).memory.total(), plan.at(Shard::none).memory.total());
    EXPECT_EQ(plan.at(shard).step.exposed, 0);
    EXPECT_EQ(plan.at(shard).reduce_scatter_bytes + plan.at(shard).all_gather_bytes, 0);
  }
}

// A rank sends n (R - 1) / R bytes of n, in each round.
TEST(RankPlan, CountsTheBytesThatARankSends) {
  const auto config = config_of("151m", {"train.gradient_shards=32"});
  const auto plan = plan_on(config, h200(), 8);
  const double parameters = static_cast<double>(plan.plan.counts.total);
  const double part = 7.0 / 8;
  EXPECT_DOUBLE_EQ(plan.at(Shard::optimizer).reduce_scatter_bytes, 4 * parameters * part);
  EXPECT_DOUBLE_EQ(plan.at(Shard::gradients).reduce_scatter_bytes, 4 * 4 * parameters * part);
  EXPECT_DOUBLE_EQ(plan.at(Shard::optimizer).all_gather_bytes, 2 * parameters * part);
  EXPECT_DOUBLE_EQ(plan.at(Shard::none).all_gather_bytes, 4 * parameters * part);
}

// A rank with 4 of 32 shards has the sums of 1, 2 and 4 shards at once.
TEST(RankPlan, CountsTheSumsOfTheGradientShardsOfARank) {
  const auto plan = plan_on(config_of("151m", {"train.gradient_shards=32"}), h200(), 8);
  const double parameters = static_cast<double>(plan.plan.counts.total);
  EXPECT_EQ(plan.gradient_shards, 32);
  EXPECT_DOUBLE_EQ(plan.at(Shard::optimizer).memory.gradients, 3 * 4 * parameters);
  EXPECT_DOUBLE_EQ(plan.at(Shard::gradients).memory.gradients,
                   3 * 4 * parameters / 8 + 2 * h200().bucket_bytes);
}

// In float32 the weights are the master weights: ranks have parts of the moments alone.
TEST(RankPlan, FollowsThePrecision) {
  const auto plan = plan_on(config_of("151m", {"train.precision=float32"}), h200(), 8);
  const double parameters = static_cast<double>(plan.plan.counts.total);
  EXPECT_DOUBLE_EQ(plan.at(Shard::optimizer).memory.weights, 4 * parameters);
  EXPECT_DOUBLE_EQ(plan.at(Shard::optimizer).memory.optimizer, 2 * 4 * parameters / 8);
  EXPECT_DOUBLE_EQ(plan.at(Shard::none).memory.optimizer, 2 * 4 * parameters);
}

TEST(RankPlan, SpreadsRanksOverMoreHosts) {
  const auto config = config_of("7b");
  const auto dense = plan_on(config, h200(), 8), spread = plan_on(config, h200(), 8, 4);
  EXPECT_EQ(dense.hosts, 1);
  EXPECT_EQ(spread.hosts, 4);
  EXPECT_GT(spread.at(Shard::optimizer).step.reduce_scatter,
            2 * dense.at(Shard::optimizer).step.reduce_scatter);
}

std::string refusal(const config::Config& config, std::int64_t ranks, std::int64_t hosts = 0) {
  try {
    plan_on(config, h200(), ranks, hosts);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RankPlan, RefusesRanksThatDoNotFit) {
  const auto config = config_of("7b");
  EXPECT_EQ(refusal(config, 12),
            "--ranks 12 must fill hosts of 8 ranks (h200), but does not; name --hosts");
  EXPECT_EQ(refusal(config, 12, 5),
            "--hosts 5 must have 12 ranks in equal numbers of at most 8 (h200), but cannot; name "
            "other numbers");
  EXPECT_EQ(
      refusal(config, 3),
      "3 ranks need 3 gradient shards, which do not divide train.batch = 1024; use 2 ranks, or "
      "another train.batch");
  EXPECT_EQ(refusal(config_of("7b", {"train.gradient_shards=32"}), 64),
            "train.gradient_shards = 32 cannot be shared by 64 ranks: gradient_shards / ranks must "
            "be a power of two (1, 2, 4, 8, 16 or 32 ranks); or choose train.gradient_shards = 64");
}

TEST(FootprintOfRank, SharesTheOptimizerState) {
  constexpr std::int64_t kParameters = 1'000'000'000;
  auto config = config::resolve({});
  config.train.gradient_shards = 16;
  // bfloat16: copies of 2 bytes, master weights of 4, two moments, five float32 sums of gradients
  const nn::Footprint whole{
      .weights = 6e9, .gradients = 20e9, .moments = 8e9, .activations = 1e9, .checkpoint = 12e9};
  const auto of_rank = [&](const char* shard, std::int64_t ranks) {
    config.distributed.shard = shard;
    return plan::footprint_of_rank(whole, config, nn::Precision::bfloat16, kParameters, ranks);
  };
  EXPECT_DOUBLE_EQ(of_rank("optimizer", 1).total(), whole.total());
  const auto shared = of_rank("optimizer", 8);
  EXPECT_DOUBLE_EQ(shared.weights, 2.5e9);
  EXPECT_DOUBLE_EQ(shared.moments, 1e9);
  EXPECT_DOUBLE_EQ(shared.gradients, 8e9);
  EXPECT_DOUBLE_EQ(shared.activations, 1e9);
  EXPECT_DOUBLE_EQ(shared.checkpoint, 1.5e9);
  EXPECT_DOUBLE_EQ(of_rank("gradients", 8).gradients, 4.5e9);
  EXPECT_DOUBLE_EQ(of_rank("gradients", 16).total(), of_rank("optimizer", 16).total());
  const auto on_gpu = plan::footprint_of_rank(whole, config, nn::Precision::bfloat16, kParameters,
                                              16, /*keeps_masters=*/true);
  EXPECT_DOUBLE_EQ(on_gpu.weights, 6e9);
  EXPECT_DOUBLE_EQ(on_gpu.moments, 0.5e9);
  const auto copies = of_rank("none", 8);
  EXPECT_DOUBLE_EQ(copies.weights, 6e9);
  EXPECT_DOUBLE_EQ(copies.moments, 8e9);
  EXPECT_DOUBLE_EQ(copies.gradients, 8e9);
  EXPECT_DOUBLE_EQ(copies.checkpoint, 12e9);
}

// train.gradient_shards = "auto": each rank computes one shard, and has its gradient.
TEST(FootprintOfRank, HasTheGradientOfOneShard) {
  auto config = config::resolve({});
  ASSERT_EQ(config.train.gradient_shards, 0);
  const nn::Footprint whole{.gradients = 4e9};
  for (const auto* const shard : {"none", "optimizer", "gradients"}) {
    config.distributed.shard = shard;
    EXPECT_DOUBLE_EQ(
        plan::footprint_of_rank(whole, config, nn::Precision::float32, 1'000'000'000, 8).gradients,
        4e9)
        << shard;
  }
}

}  // namespace
}  // namespace evenkeel
