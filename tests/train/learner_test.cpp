// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/learner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/probe/probe.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Precision;
using testing::close;
using testing::fixed_token_ids;
using testing::TinyModel;

/// Rows of different lengths: a mean of means would differ from the mean over all tokens.
data::Batch uneven_batch() {
  const auto ids = fixed_token_ids(6, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{{values, values + 96}, {values, values + 96}, 6, 0};
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const bool padding = i % 16 >= 3 + 2 * (i / 16);
    if (padding) batch.targets[i] = data::kIgnoreIndex;
    batch.scored += padding ? 0 : 1;
  }
  return batch;
}

std::vector<at::Tensor> masters_after(Precision precision, std::int64_t rows, int threads = 1,
                                      nn::Recompute recompute = nn::Recompute::none) {
  at::set_num_threads(threads);
  TinyModel tiny("hybrid_norm_star", precision, {.recompute = recompute});
  train::Learner learner({}, *tiny.model, *tiny.parameters);
  for (int step = 0; step < 3; ++step) learner.train_step(uneven_batch(), rows, 1e-2);
  std::vector<at::Tensor> masters;
  for (const auto& group : tiny.parameters->groups()) masters.push_back(group.master);
  return masters;
}

TEST(Learner, GivesTheSameUpdateForAnyMicroBatchSize) {
  const auto whole = masters_after(Precision::float64, 6);
  for (const std::int64_t rows : {1, 2, 4}) {
    const auto split = masters_after(Precision::float64, rows);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(close(split[i], whole[i], 1e-9, 1e-11)) << rows << " rows at once, group " << i;
    }
  }
}

TEST(Learner, IsBitwiseEqualWithActivationCheckpointing) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    const auto reference = masters_after(precision, 2);
    for (const auto recompute : {nn::Recompute::norms, nn::Recompute::block}) {
      const auto checkpointed = masters_after(precision, 2, 1, recompute);
      for (std::size_t i = 0; i < reference.size(); ++i)
        EXPECT_TRUE(checkpointed[i].equal(reference[i])) << i;
    }
  }
}

/// The gradients that single rows add to that of the mean loss, accumulated in float32.
std::vector<at::Tensor> accumulated_gradients(TinyModel& tiny, const data::Batch& batch) {
  const auto [ids, targets] = nn::batch_tensors(batch.inputs, batch.targets, batch.rows);
  std::vector<at::Tensor> sums;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    tiny.parameters->zero_gradients();
    const auto loss = tiny.model->loss_sum(ids.narrow(0, row, 1), targets.narrow(0, row, 1));
    (loss / static_cast<double>(batch.scored)).backward();
    std::size_t i = 0;
    for (const auto& gradient : tiny.parameters->gradients()) {
      if (row == 0) sums.push_back(at::zeros_like(gradient, at::kFloat));
      sums[i++].add_(gradient);
    }
  }
  return sums;
}

// With beta1 = 0 and no clipping the first moment is the gradient. Parts that are added in bfloat16
// differ from the sum in every second value, by up to 2^-9 of it.
TEST(Learner, AccumulatesBfloat16GradientsInFloat32) {
  TinyModel tiny("hybrid_norm_star", Precision::bfloat16);
  const auto batch = uneven_batch();
  const auto expected = accumulated_gradients(tiny, batch);
  train::Learner learner({.beta1 = 0, .clip = 0}, *tiny.model, *tiny.parameters);
  learner.train_step(batch, /*micro_batch_size=*/1, /*rate=*/0);
  const auto& actual = learner.optimizer().first_moments();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(actual[i], expected[i], 1e-5, 1e-7)) << "group " << i;
  }
}

TEST(Learner, IsBitwiseEqualForAnyNumberOfThreads) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    const auto one = masters_after(precision, 4, 1);
    const auto two = masters_after(precision, 4, 2);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i]));
  }
}

norm::Shape mixture_shape(bool has_bias = false) {
  auto shape = testing::tiny_shape(3);
  shape.experts = {.count = 5, .active = 2, .has_bias = has_bias};
  return shape;
}

std::vector<at::Tensor> mixture_after(Precision precision, int threads) {
  at::set_num_threads(threads);
  TinyModel tiny("hybrid_norm_star", precision, {}, mixture_shape());
  train::Learner learner({}, *tiny.model, *tiny.parameters, {.count = 5});
  for (int step = 0; step < 3; ++step) learner.train_step(uneven_batch(), 4, 1e-2);
  std::vector<at::Tensor> masters;
  for (const auto& group : tiny.parameters->groups()) masters.push_back(group.master);
  return masters;
}

TEST(Learner, IsBitwiseEqualForAMixtureAndAnyNumberOfThreads) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    const auto one = mixture_after(precision, 1);
    const auto two = mixture_after(precision, 2);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i]));
  }
}

TEST(Learner, CountsTokensPerExpertOverTheWholeBatch) {
  TinyModel tiny("hybrid_norm", Precision::float64, {}, mixture_shape());
  train::Learner learner({}, *tiny.model, *tiny.parameters, {.count = 5});
  const auto routing = learner.train_step(uneven_batch(), 4, 0).routing;
  EXPECT_EQ(routing.blocks, std::vector<std::int64_t>({1, 2, 3}));
  for (const auto& counts : routing.tokens) {
    std::int64_t all = 0;
    for (const auto count : counts) all += count;
    EXPECT_EQ(all, 6 * 16 * 2);  // padding is routed, too
  }
}

// The gradient of the auxiliary losses: with their weights at 0 the router gets another one.
TEST(Learner, WeighsTheAuxiliaryLosses) {
  const auto router_after = [](const config::Experts& experts) {
    TinyModel tiny("hybrid_norm", Precision::float64, {}, mixture_shape());
    train::Learner learner({.beta1 = 0, .clip = 0}, *tiny.model, *tiny.parameters, experts);
    learner.train_step(uneven_batch(), 6, 0);
    const auto& parameter = tiny.parameters->at("blocks.1.feed_forward.router.weight");
    return parameter.slice_of(learner.optimizer().first_moments()[parameter.group]).clone();
  };
  const auto none = router_after({.count = 5, .balance = 0, .router_z = 0});
  const auto balance = router_after({.count = 5, .balance = 0.5, .router_z = 0}) - none;
  const auto z = router_after({.count = 5, .balance = 0, .router_z = 0.5}) - none;
  EXPECT_GT(balance.abs().max().item<double>(), 1e-6);
  EXPECT_GT(z.abs().max().item<double>(), 1e-6);
  const auto both = router_after({.count = 5, .balance = 1, .router_z = 0.25}) - none;
  EXPECT_TRUE(close(both, 2 * balance + 0.5 * z, 1e-9, 1e-12));
}

/// One step of a mixture without an update: its record, and the gradient of a router.
struct RouterStep {
  train::StepResult result;
  at::Tensor gradient;
};

RouterStep router_step(const config::Experts& experts, std::int64_t micro_batch_size) {
  const TinyModel tiny("hybrid_norm", Precision::float64, {}, mixture_shape());
  train::Learner learner({.beta1 = 0, .clip = 0}, *tiny.model, *tiny.parameters, experts);
  auto result = learner.train_step(uneven_batch(), micro_batch_size, /*rate=*/0);
  const auto& router = tiny.parameters->at("blocks.1.feed_forward.router.weight");
  return {std::move(result),
          router.slice_of(learner.optimizer().first_moments()[router.group]).clone()};
}

/// The mean over all routers and micro-batches, each micro-batch with the share of its rows.
struct MeanLosses {
  double balance = 0, z = 0;
};

MeanLosses mean_losses(std::int64_t micro_batch_size) {
  const TinyModel tiny("hybrid_norm", Precision::float64, {}, mixture_shape());
  const at::NoGradGuard no_grad;
  const auto ids = fixed_token_ids(6, 16);
  MeanLosses mean;
  for (std::int64_t first = 0; first < 6; first += micro_batch_size) {
    const auto rows = std::min<std::int64_t>(micro_batch_size, 6 - first);
    nn::Observer observer;
    observer.routing = [&](std::int64_t, const nn::Routing& routing) {
      const auto losses = nn::router_losses(routing);
      const double share = static_cast<double>(rows) / 6 / 3;  // of 6 rows and 3 routers
      mean.balance += share * losses.balance.item<double>();
      mean.z += share * losses.z.item<double>();
    };
    tiny.model->hidden(ids.narrow(0, first, rows),
                       {.mode = nn::Mode::training, .observer = &observer});
  }
  return mean;
}

// The router z-loss is a mean over tokens: it does not depend on the micro-batches. The balance
// loss does: it is that of each micro-batch.
TEST(Learner, WeighsTheAuxiliaryLossesOfAMicroBatchByItsRows) {
  const config::Experts experts = {.count = 5, .balance = 0, .router_z = 0.5};
  const auto whole = router_step(experts, 6);
  for (const std::int64_t rows : {6, 4, 3, 1}) {
    const auto split = router_step(experts, rows);
    const auto expected = mean_losses(rows);
    EXPECT_TRUE(close(split.gradient, whole.gradient, 1e-9, 1e-11)) << rows;
    EXPECT_NEAR(split.result.router_z_loss, whole.result.router_z_loss, 1e-12) << rows;
    EXPECT_NEAR(split.result.router_z_loss, expected.z, 1e-12) << rows;
    EXPECT_NEAR(split.result.balance_loss, expected.balance, 1e-12) << rows;
  }
  EXPECT_GT(std::abs(whole.result.router_z_loss - whole.result.balance_loss), 0.01);
}

// The gradients of a probe contain the auxiliary losses, and its loss is the cross-entropy alone.
TEST(Learner, HasTheGradientsOfAProbe) {
  for (const std::int64_t rows : {6, 4}) {
    const config::Experts experts = {.count = 5, .balance = 0.5, .router_z = 0.25};
    const auto step = router_step(experts, rows).result;
    const TinyModel tiny("hybrid_norm", Precision::float64, {}, mixture_shape());
    const auto norm_with = [&](const config::Experts& weights) {
      const auto probed =
          probe::run_probe(*tiny.model, *tiny.parameters, {weights, 0}, uneven_batch(),
                           {"grad_norm"}, rows, TinyModel::kPlannedSteps);
      EXPECT_NEAR(probed.loss, step.loss, 1e-12) << rows;
      return probed.find("grad_norm", "model")->values[0];
    };
    EXPECT_NEAR(norm_with(experts), step.gradient_norm, 1e-9) << rows;
    EXPECT_GT(std::abs(norm_with({.balance = 0, .router_z = 0}) - step.gradient_norm), 1e-3);
  }
}

// An expert without tokens has a gradient of zeros: its weights decay, its moments stay.
TEST(Learner, OnlyDecaysExpertsWithoutTokens) {
  TinyModel tiny("hybrid_norm", Precision::float32, {}, mixture_shape());
  {
    const at::NoGradGuard no_grad;
    tiny.parameters->at("blocks.1.feed_forward.router.weight").master.zero_();
  }
  train::Learner learner({}, *tiny.model, *tiny.parameters, {.count = 5});
  const auto& down = tiny.parameters->at("blocks.1.feed_forward.experts.down.weight");
  const auto before = down.master.clone();
  const auto routing = learner.train_step(uneven_batch(), 6, /*rate=*/0.5).routing;
  EXPECT_EQ(routing.tokens[1], std::vector<std::int64_t>({96, 96, 0, 0, 0}));
  const auto first = down.slice_of(learner.optimizer().first_moments()[down.group]);
  EXPECT_TRUE(first[0].any().item<bool>());
  EXPECT_FALSE(first.narrow(0, 2, 3).any().item<bool>());
  EXPECT_TRUE(
      close(down.master.narrow(0, 2, 3), before.narrow(0, 2, 3) * (1 - 0.5 * 0.1), 1e-6, 0));
}

TEST(Learner, RaisesTheBiasOfUnderloadedExperts) {
  TinyModel tiny("hybrid_norm", Precision::float32, {}, mixture_shape(/*has_bias=*/true));
  train::Learner learner({}, *tiny.model, *tiny.parameters, {.count = 5, .bias_rate = 0.01});
  const auto routing = learner.train_step(uneven_batch(), 6, 0).routing;
  const auto bias = tiny.parameters->find_state("blocks.0.feed_forward.router.bias");
  constexpr double kMean = 6 * 16 * 2 / 5.0;
  for (std::size_t e = 0; e < 5; ++e) {
    const auto count = static_cast<double>(routing.tokens[0][e]);
    const double moved = count < kMean ? 0.01 : -0.01;
    EXPECT_FLOAT_EQ(bias[static_cast<std::int64_t>(e)].item<float>(), static_cast<float>(moved));
  }
  // A step that is refused moves nothing.
  const auto saved = bias.clone();
  learner.train_step(uneven_batch(), 6, 0, [](const train::StepResult&) { return false; });
  EXPECT_TRUE(bias.equal(saved));
}

class BadGradients : public ::testing::TestWithParam<float> {};

TEST_P(BadGradients, NeverTouchWeightsOrMoments) {
  TinyModel tiny("hybrid_norm_star", Precision::float32);
  train::Learner learner({}, *tiny.model, *tiny.parameters);
  learner.train_step(uneven_batch(), 3, 1e-2);
  auto poisoned = tiny.parameters->at("blocks.1.feed_forward.up_gate.weight").master;
  poisoned[0][0] = GetParam();
  std::vector<at::Tensor> before;
  for (const auto& group : tiny.parameters->groups()) before.push_back(group.master.clone());
  for (const auto& moment : learner.optimizer().first_moments()) before.push_back(moment.clone());
  for (const auto& moment : learner.optimizer().second_moments()) before.push_back(moment.clone());

  const auto result = learner.train_step(uneven_batch(), 3, 1e-2);

  EXPECT_FALSE(result.applied);
  EXPECT_EQ(learner.updates(), 1);
  std::size_t i = 0;
  for (const auto& group : tiny.parameters->groups()) {
    EXPECT_TRUE(close(group.master.nan_to_num(0, 0, 0), before[i].nan_to_num(0, 0, 0), 0, 0));
    ++i;
  }
  for (const auto& moment : learner.optimizer().first_moments())
    EXPECT_TRUE(moment.equal(before[i++]));
  for (const auto& moment : learner.optimizer().second_moments())
    EXPECT_TRUE(moment.equal(before[i++]));
}

INSTANTIATE_TEST_SUITE_P(Values, BadGradients,
                         ::testing::Values(std::numeric_limits<float>::quiet_NaN(),
                                           std::numeric_limits<float>::infinity(),
                                           -std::numeric_limits<float>::infinity()));

TEST(Learner, ClipsByTheNormOverAllParameters) {
  TinyModel tiny("hybrid_norm_star", Precision::float64);
  train::Learner gentle({.clip = 1e-3}, *tiny.model, *tiny.parameters);
  EXPECT_TRUE(gentle.train_step(uneven_batch(), 6, 0).clipped);
  train::Learner free({.clip = 0}, *tiny.model, *tiny.parameters);
  EXPECT_FALSE(free.train_step(uneven_batch(), 6, 0).clipped);
}

}  // namespace
}  // namespace evenkeel
