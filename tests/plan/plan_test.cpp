// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/plan/batch_size.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/run_length.h"

namespace evenkeel {
namespace {

/// Pre-Norm with 2 blocks of width 8 and FFN width 12, 2 heads of 4, 1 of keys, 4 positions, and
/// 257 tokens in an embedding of 320 rows.
config::Config countable(std::vector<std::string> sets = {}) {
  std::vector<std::string> all = {"model.layers=2",   "model.width=8",  "model.heads=2",
                                  "model.kv_heads=1", "model.inner=12", "model.context=4",
                                  "train.batch=3"};
  all.insert(all.end(), sets.begin(), sets.end());
  return config::resolve({.preset = "tiny", .files = {}, .scheme = "pre_norm", .sets = all});
}

plan::Plan plan_of(const std::vector<std::string>& sets = {},
                   nn::Precision precision = nn::Precision::float32) {
  return plan::plan_of(countable(sets), {.precision = precision}, 257);
}

constexpr int kEmbedding = 320 * 8;
constexpr int kMatrices = 2 * (16 * 8 + 8 * 8 + 24 * 8 + 8 * 12);
constexpr int kGains = 5 * 8;

TEST(Plan, BindsTheSchemeToTheShapeOfTheModel) {
  const auto plan = plan_of();
  EXPECT_EQ(plan.scheme.info.name, "pre_norm");
  EXPECT_EQ(plan.scheme.shape.vocabulary, 257);
  EXPECT_EQ(plan.scheme.blocks.size(), 2);
}

// The embedding has a multiple of model.pad_vocabulary_to rows.
TEST(Plan, CountsParametersWithThePaddedVocabulary) {
  const auto plan = plan_of();
  EXPECT_EQ(plan.parameters.front().shape, (std::vector<std::int64_t>{320, 8}));
  EXPECT_EQ(plan.counts.total, kEmbedding + kMatrices + kGains);
  EXPECT_EQ(plan.counts.norms, kGains);
  EXPECT_EQ(plan_of({"model.pad_vocabulary_to=1"}).counts.embedding, 257 * 8);
  EXPECT_EQ(plan_of({"model.tied=false"}).counts.embedding, 2 * kEmbedding);
}

// Top-k experts are active: 1 of 4 leaves 3 experts a block out.
TEST(Plan, CountsTheParametersThatAreActiveForAToken) {
  const auto plan = plan_of({"model.experts.count=4", "model.experts.active=1"});
  EXPECT_EQ(plan.counts.total - plan.active_parameters, 2 * 3 * (24 * 8 + 8 * 12));
  EXPECT_EQ(plan_of().active_parameters, plan_of().counts.total);
}

// 6 (weights + N T D) a token with the padded head, and 12 a value of 5 norms.
TEST(Plan, CountsFlops) {
  const auto plan = plan_of({"train.steps=5"});
  EXPECT_EQ(plan.flops_per_token, 6 * (kEmbedding + kMatrices + 2 * 4 * 8));
  EXPECT_EQ(plan.norm_flops_per_token, 12 * 5 * 8);
  EXPECT_DOUBLE_EQ(plan.paper_norms_share, 2.0 / (6 * 8 + 4));
  EXPECT_EQ(plan.tokens, 5 * 3 * 4);
  EXPECT_EQ(plan.flops(), plan.tokens * plan.flops_per_token);
}

TEST(Plan, CountsMemoryInThePrecisionOfTheMachine) {
  const auto parameters = kEmbedding + kMatrices + kGains;
  EXPECT_EQ(plan_of({}, nn::Precision::float32).memory.weights, 4 * parameters);
  EXPECT_EQ(plan_of({}, nn::Precision::float64).memory.weights, 8 * parameters);
  EXPECT_EQ(plan_of({}, nn::Precision::bfloat16).memory.weights,
            4 * parameters + 2 * (kEmbedding + kMatrices));
}

// The formulas of kernels.fused = false and materialized scores save more, checkpointing less.
TEST(Plan, CountsActivationsByTheKernelsAndTheCheckpointing) {
  const auto bytes = [](const std::string& set) { return plan_of({set}).memory.activations; };
  const auto usual = plan_of().memory.activations;
  EXPECT_GT(bytes("kernels.fused=false"), usual);
  EXPECT_GT(bytes("kernels.attention=explicit"), usual);
  EXPECT_LT(bytes("model.recompute=norms"), usual);
  EXPECT_LT(bytes("model.recompute=block"), usual);
  EXPECT_EQ(bytes("train.micro_batch=1") * 3, usual);
}

// LayerScale saves its branches: in each of 2 blocks 2 of width 8, for 3 sequences of 4 tokens.
TEST(Plan, CountsTheInputsOfTrainedFactors) {
  auto config = countable();
  config.scheme = config::resolve({.scheme = "layer_scale"}).scheme;
  const auto plan = plan::plan_of(config, {.precision = nn::Precision::float32}, 257);
  EXPECT_EQ(plan.memory.activations - plan_of().memory.activations, 4 * 2 * 2 * 8 * 3 * 4);
}

// The modes in the order of their time; a tenth of the free memory is left.
TEST(Plan, AutoRecomputesAsLittleAsFits) {
  const auto total_with = [](const std::string& mode) {
    return plan_of({"model.recompute=" + mode, "model.layers=8"}).memory.total();
  };
  const auto chosen_with = [](double free_memory, const std::string& scheme = "pre_norm") {
    auto config = countable({"model.recompute=auto", "model.layers=8"});
    config.scheme = config::resolve({.scheme = scheme}).scheme;
    return plan::plan_of(config, {.free_memory = free_memory}, 257);
  };
  const double none = total_with("none"), norms = total_with("norms"), block = total_with("block");
  ASSERT_GT(none, norms);
  ASSERT_GT(norms, block);
  EXPECT_EQ(chosen_with(0).recompute, "none");
  EXPECT_EQ(chosen_with(none / 0.9 + 1).recompute, "none");
  EXPECT_EQ(chosen_with(none / 0.9 - 1).recompute, "norms");
  EXPECT_EQ(chosen_with(norms / 0.9 + 1).memory.total(), norms);
  EXPECT_EQ(chosen_with(norms / 0.9 - 1).recompute, "block");
  EXPECT_EQ(chosen_with(1).memory.total(), block);
  EXPECT_EQ(chosen_with(1, "batch_norm").recompute, "none");  // its norms are not recomputed
  EXPECT_EQ(plan_of({"model.recompute=norms"}).recompute, "norms");
}

// A rank has its share of the optimizer state, which leaves memory for activations.
TEST(Plan, AutoRecomputesByTheMemoryOfARank) {
  const std::vector<std::string> sets = {"model.recompute=auto", "train.batch=4",
                                         "train.gradient_shards=2"};
  const auto on = [&](std::int64_t ranks, double free_memory) {
    return plan::plan_of(countable(sets), {.ranks = ranks, .free_memory = free_memory}, 257);
  };
  const double whole = on(1, 0).memory.total(), of_rank = on(2, 0).memory.total();
  ASSERT_LT(of_rank, whole);
  EXPECT_EQ(on(2, of_rank / 0.9 + 1).recompute, "none");
  EXPECT_EQ(on(2, of_rank / 0.9 - 1).recompute, "norms");
  EXPECT_NE(on(1, of_rank / 0.9 + 1).recompute, "none");
}

// The trainer moves the bias of a router, so its block can run twice.
TEST(Plan, AutoRecomputesBlocksOfAMixture) {
  const auto plan =
      plan::plan_of(countable({"model.recompute=auto", "model.layers=8", "model.experts.count=4",
                               "model.experts.active=2", "model.experts.bias_rate=0.001"}),
                    {.free_memory = 1}, 257);
  EXPECT_EQ(plan.recompute, "block");
}

TEST(Plan, TakesTheCountsOfTheModelForItsMemory) {
  const auto config = countable();
  const auto plan = plan_of();
  const auto moments = [&](const nn::ParameterCounts& counts) {
    return plan::footprint_of(config, plan.scheme, 320, counts, nn::Precision::float32).moments;
  };
  EXPECT_EQ(moments(plan.counts), plan.memory.moments);
  EXPECT_EQ(moments({.total = 1000}), 2 * 1000 * 4);
}

// The formula of the z-loss saves the logits.
TEST(Plan, CountsTheLogitsOfTheZLoss) {
  const auto temporary = [](const std::string& z_loss) {
    return plan_of({"kernels.fused=false", "train.z_loss=" + z_loss}).memory.temporary;
  };
  EXPECT_GE(temporary("1e-4") - temporary("0"), 4 * 3 * 4 * 257);
}

TEST(Plan, WithRecomputeReplacesAuto) {
  const auto config = countable({"model.recompute=auto"});
  const auto plan = plan::plan_of(config, {.free_memory = 1}, 257);
  EXPECT_EQ(plan::recompute_of(config), nn::Recompute::none);
  EXPECT_EQ(plan::with_recompute(config, plan).train.micro_batch, plan.micro_batch_size);
  EXPECT_EQ(plan::with_recompute(countable(), plan_of()).train.micro_batch, 0);
  EXPECT_EQ(plan::with_recompute(config, plan).model.recompute, plan.recompute);
  EXPECT_NE(plan.recompute, "auto");
}

// ceil(25 / (3 * 4)) = 3.
TEST(RunLength, IsThatOfStepsOrOfTokensRoundedUp) {
  EXPECT_EQ(plan_of({"train.steps=5"}).steps, 5);
  EXPECT_EQ(plan_of({"train.tokens=25"}).steps, 3);
  EXPECT_EQ(plan::planned_steps(countable({"train.steps=5"})), 5);
  EXPECT_EQ(plan::planned_steps(countable({"train.steps=5", "schedule.steps=7"})), 7);
}

// 8,192 tokens at once, or 2^28 logits: 2^28 / 2^20 = 256 tokens are 64 sequences of 4.
TEST(MicroBatchSize, IsBoundedByTokensLogitsAndTheBatch) {
  const auto size = [](const std::string& batch, std::int64_t vocabulary) {
    return plan::micro_batch_size(countable({batch}), vocabulary);
  };
  EXPECT_EQ(size("train.batch=3", 257), 3);
  EXPECT_EQ(size("train.batch=4096", 257), 2048);
  EXPECT_EQ(size("train.batch=4096", 1 << 20), 64);
  EXPECT_EQ(size("train.batch=4096", std::int64_t{1} << 40), 1);
}

TEST(MicroBatchSize, IsTheConfiguredOneInTrainingOnly) {
  const auto config = countable({"train.batch=4096", "train.micro_batch=4096"});
  EXPECT_EQ(plan::micro_batch_size(config, 257), 4096);
  EXPECT_EQ(plan::evaluation_batch_size(config, 257), 2048);
}

TEST(Plan, CountsTheCopyOfABackgroundCheckpoint) {
  const auto without = plan_of().memory, with = plan_of({"checkpoint.background=true"}).memory;
  EXPECT_DOUBLE_EQ(without.checkpoint, 0);
  EXPECT_DOUBLE_EQ(with.checkpoint,
                   12 * (kEmbedding + kMatrices + kGains));  // float32, three times
  EXPECT_DOUBLE_EQ(with.total(), without.total() + with.checkpoint);
}

}  // namespace
}  // namespace evenkeel
