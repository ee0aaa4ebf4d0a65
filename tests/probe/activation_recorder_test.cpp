// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/activation_recorder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/probe/random.h"
#include "evenkeel/probe/routing_recorder.h"
#include "support/tiny_model.h"

namespace evenkeel::probe {
namespace {

using testing::fixed_token_ids;
using testing::TinyModel;

std::vector<double> values(const std::vector<LayerProfile>& all, const std::string& measure,
                           const std::string& part) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const LayerProfile& each) {
    return each.measure == measure && each.part == part;
  });
  return found == all.end() ? std::vector<double>() : found->values;
}

/// The inputs of attention in each block, of two batches: of 1 sequence of 16 tokens, and of 3.
/// \param length  of the 3 sequences
std::vector<std::vector<nn::AttentionInputs>> recorded_inputs(const TinyModel& tiny,
                                                              ActivationRecorder& recorder,
                                                              std::int64_t length = 16) {
  const at::NoGradGuard no_grad;
  std::vector<std::vector<nn::AttentionInputs>> inputs(3);
  auto observer = recorder.observer();
  const auto record = observer.attention;
  observer.attention = [&](std::int64_t l, const nn::AttentionInputs& each) {
    inputs[static_cast<std::size_t>(l - 1)].push_back(each);
    record(l, each);
  };
  for (const auto& ids : {fixed_token_ids(1, 16), fixed_token_ids(3, length, 29)}) {
    tiny.model->hidden(ids, {.observer = &observer});
  }
  return inputs;
}

// Of block l: shifted / sparse over both batches, where the key at place s of key head h is
// multiplied by 1 + noise * randn(l)[h, s]. Of the model: sums over blocks, divided.
TEST(ActivationRecorder, MeasuresTheShareOfSparseQueriesThatNoiseMoves) {
  TinyModel tiny("pre_norm");
  for (std::int64_t i = 0; i < 3; ++i) {  // sharp attention, of a different number in each block
    const at::NoGradGuard no_grad;
    tiny.parameters->at(text("blocks.", i, ".attention.qkv.weight")).master.mul_(i + 1);
  }
  tiny.parameters->copy_masters_to_values();
  ActivationRecorder recorder(3, {"sparse_attention", "circuit_collapse"});
  const auto inputs = recorded_inputs(tiny, recorder);
  const auto profiles = recorder.profiles();
  for (const double noise : kNoises) {
    const auto part = "noise " + shortest(noise);
    double all_shifted = 0, all_sparse = 0;
    for (std::int64_t l = 1; l <= 3; ++l) {
      const auto at = static_cast<std::size_t>(l - 1);
      const auto drawn = randn(static_cast<std::uint64_t>(l), "probe/circuit_collapse", {2, 16});
      double queries = 0, sparse = 0, shifted = 0;
      for (const auto& each : inputs[at]) {
        const auto shifts = nn::attention_shifts(each, (1 + noise * drawn).unsqueeze(0));
        queries += static_cast<double>(shifts.queries);
        sparse += static_cast<double>(shifts.sparse);
        shifted += static_cast<double>(shifts.shifted[0]);
      }
      EXPECT_EQ(queries, 4 * 4 * 15);  // 4 rows, 4 heads, all but the first of 16 places
      EXPECT_EQ(values(profiles, "sparse_attention", "").at(at), sparse / queries);
      EXPECT_EQ(values(profiles, "circuit_collapse", part).at(at), shifted / sparse);
      all_shifted += shifted;
      all_sparse += sparse;
    }
    EXPECT_GT(all_shifted, 0);
    const auto pooled = values(profiles, "circuit_collapse", "model, " + part);
    EXPECT_EQ(pooled, std::vector<double>{all_shifted / all_sparse});
    const auto blocks = values(profiles, "circuit_collapse", part);
    EXPECT_NE(pooled[0], (blocks[0] + blocks[1] + blocks[2]) / 3);
  }
}

// With keys of length zero no query is sparse: there is nothing that noise could move.
TEST(ActivationRecorder, HasNoValueWithoutSparseQueries) {
  TinyModel tiny("pre_norm");
  {
    const at::NoGradGuard no_grad;
    tiny.parameters->at("blocks.1.attention.qkv.weight").master.zero_();
    tiny.parameters->copy_masters_to_values();
  }
  ActivationRecorder recorder(3, {"circuit_collapse"});
  recorded_inputs(tiny, recorder);
  const auto profiles = recorder.profiles();
  const auto blocks = values(profiles, "circuit_collapse", "noise 0.1");
  EXPECT_TRUE(std::isfinite(blocks.at(0)));
  EXPECT_TRUE(std::isnan(blocks.at(1)));
  EXPECT_TRUE(std::isfinite(values(profiles, "circuit_collapse", "model, noise 0.1").at(0)));
}

/// -sum a ln a of the attention weights a, over batch, heads, queries and keys.
double entropy_sum(const nn::AttentionInputs& in) {
  const auto keys = in.k.repeat_interleave(in.q.size(1) / in.k.size(1), 1);  // [B, h, T, dk]
  const auto scores = at::matmul(in.q, keys.transpose(-1, -2)) * in.scale;
  const auto later = at::ones({in.q.size(2), in.k.size(2)}, at::kBool).triu(1);
  const auto masked = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  return at::special_entr(at::softmax(masked, -1)).sum().item<double>();
}

// Batches of 1 and 3 rows: a mean over all 4 rows, 4 heads and 16 queries, not of two means.
TEST(ActivationRecorder, AveragesTheAttentionEntropyOverTheRowsOfAllBatches) {
  const TinyModel tiny("pre_norm");
  ActivationRecorder recorder(3, {"attention_entropy"});
  const auto inputs = recorded_inputs(tiny, recorder);
  const auto entropy = values(recorder.profiles(), "attention_entropy", "");
  ASSERT_EQ(entropy.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(inputs[i].size(), 2U);
    const double one_row = entropy_sum(inputs[i][0]), three_rows = entropy_sum(inputs[i][1]);
    EXPECT_NEAR(entropy[i], (one_row + three_rows) / (4 * 4 * 16), 1e-12) << i;
    EXPECT_GT(std::abs(one_row - three_rows / 3), 1e-6) << i;
  }
}

// Batches of 16 and of 3 * 4 tokens: each query counts once, so that sequences count by their
// length.
TEST(ActivationRecorder, AveragesTheAttentionEntropyOverTokensOfBatchesOfTwoLengths) {
  const TinyModel tiny("pre_norm");
  ActivationRecorder recorder(3, {"attention_entropy"});
  const auto inputs = recorded_inputs(tiny, recorder, /*length=*/4);
  const auto entropy = values(recorder.profiles(), "attention_entropy", "");
  ASSERT_EQ(entropy.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const double one_row = entropy_sum(inputs[i][0]), three_rows = entropy_sum(inputs[i][1]);
    const double mean = (one_row + three_rows) / (4 * (16 + 3 * 4));  // 4 heads
    EXPECT_NEAR(entropy[i], mean, 1e-12) << i;
    const double by_sequences = (one_row / (4 * 16) + 3 * three_rows / (4 * 12)) / 4;
    EXPECT_GT(std::abs(mean - by_sequences), 1e-3) << i;
  }
}

/// The top-1 routing of tokens with these logits. [N, E]
nn::Routing routing_of_logits(const std::vector<double>& logits, std::int64_t experts) {
  const auto rows = at::tensor(logits, at::kDouble).view({-1, experts});
  const auto p = at::softmax(rows, -1);
  return {.logits = rows,
          .probabilities = p,
          .weights = p.amax(-1, /*keepdim=*/true),
          .assignment = nn::expert_assignment(p, 1)};
}

/// The entropy of the probabilities of two logits that differ by d.
double entropy_of_two(double d) {
  const double p = 1 / (1 + std::exp(-d));
  return -p * std::log(p) - (1 - p) * std::log1p(-p);
}

// Micro-batches of 1, 3 and 1 tokens. The largest |logit| is that of the second one, and negative.
TEST(ActivationRecorder, MeasuresRoutersOverAllMicroBatches) {
  ActivationRecorder recorder(2, {"router_logit_max", "router_entropy"});
  const auto observer = recorder.observer();
  observer.routing(2, routing_of_logits({1, -3}, 2));
  observer.routing(2, routing_of_logits({-9, 2, 0, 0, 0, 0}, 2));
  observer.routing(2, routing_of_logits({4, 4}, 2));
  const auto largest = values(recorder.profiles(), "router_logit_max", "");
  const auto entropy = values(recorder.profiles(), "router_entropy", "");
  ASSERT_EQ(largest.size(), 2U);
  EXPECT_TRUE(std::isnan(largest[0]));  // block 1 has no router
  EXPECT_EQ(largest[1], 9);
  const double sum = entropy_of_two(4) + entropy_of_two(11) + 3 * std::numbers::ln2;
  EXPECT_NEAR(entropy.at(1), sum / 5, 1e-12);
}

TEST(RoutingRecorder, AddsUpShardsAndHasTheirLargestLogit) {
  RoutingRecorder first, second;
  first.record(1, routing_of_logits({-9, 2, 0, 1}, 2));
  second.record(1, routing_of_logits({4, 3}, 2));
  for (const bool is_swapped : {false, true}) {
    RoutingRecorder sum;
    sum.add((is_swapped ? second : first).values());
    sum.add((is_swapped ? first : second).values());
    const auto stats = sum.stats();
    EXPECT_EQ(stats.largest_logit, std::vector<double>{9}) << is_swapped;
    EXPECT_EQ(stats.tokens, (std::vector<std::vector<std::int64_t>>{{1, 2}})) << is_swapped;
    const double nats = entropy_of_two(11) + 2 * entropy_of_two(1);
    EXPECT_NEAR(stats.entropy.at(0), nats / 3, 1e-12) << is_swapped;
  }
}

TEST(ActivationRecorder, BranchRatioIsOfTheBranchOverTheStreamBeforeIt) {
  const testing::TinyModel tiny("hybrid_norm");
  ActivationRecorder recorder(3, {"branch_ratio"});
  auto observer = recorder.observer();
  const auto record = observer.branch;
  double branches[2][3] = {}, streams[2][3] = {};
  observer.branch = [&](std::int64_t l, nn::Sublayer s, const at::Tensor& stream,
                        const at::Tensor& branch) {
    record(l, s, stream, branch);
    const auto i = s == nn::Sublayer::attention ? 0 : 1;
    branches[i][l - 1] += branch.square().sum().item<double>();
    streams[i][l - 1] += stream.square().sum().item<double>();
  };
  const at::NoGradGuard no_grad;
  for (const auto& ids : {testing::fixed_token_ids(1, 16), testing::fixed_token_ids(3, 16, 29)})
    tiny.model->hidden(ids, {.observer = &observer});
  int found = 0;
  for (const auto& each : recorder.profiles()) {
    const int i = each.part == "attention" ? 0 : 1;
    for (std::size_t l = 0; l < 3; ++l) {
      ++found;
      EXPECT_NEAR(each.values.at(l), std::sqrt(branches[i][l] / streams[i][l]), 1e-12) << each.part;
    }
  }
  EXPECT_EQ(found, 6);
}

}  // namespace
}  // namespace evenkeel::probe
