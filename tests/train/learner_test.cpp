// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/learner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>

#include "evenkeel/nn/batch.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Precision;
using testing::close;
using testing::some_ids;
using testing::TinyModel;

/// Rows of different lengths: a mean of means would differ from the mean over all tokens.
data::Batch uneven_batch() {
  const auto ids = some_ids(6, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{{values, values + 96}, {values, values + 96}, 6, 0};
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const bool padding = i % 16 >= 3 + 2 * (i / 16);
    if (padding) batch.targets[i] = data::kIgnored;
    batch.scored += padding ? 0 : 1;
  }
  return batch;
}

std::vector<at::Tensor> masters_after(Precision precision, std::int64_t rows, int threads = 1) {
  at::set_num_threads(threads);
  TinyModel tiny("hybrid_norm_star", precision);
  train::Learner learner({}, *tiny.model, *tiny.parameters);
  for (int step = 0; step < 3; ++step) learner.learn(uneven_batch(), rows, 1e-2);
  std::vector<at::Tensor> masters;
  for (const auto& group : tiny.parameters->groups()) masters.push_back(group.master);
  return masters;
}

TEST(Learner, GivesTheSameUpdateHoweverABatchIsSplit) {
  const auto whole = masters_after(Precision::float64, 6);
  for (const std::int64_t rows : {1, 2, 4}) {
    const auto split = masters_after(Precision::float64, rows);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(close(split[i], whole[i], 1e-9, 1e-11)) << rows << " rows at once, group " << i;
    }
  }
}

/// The gradient that each row alone adds to that of the mean loss, summed in float32.
std::vector<at::Tensor> sums_of_parts(TinyModel& tiny, const data::Batch& batch) {
  const auto [ids, targets] = nn::tensors_of(batch.inputs, batch.targets, batch.rows);
  std::vector<at::Tensor> sums;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    tiny.parameters->zero_gradients();
    const auto loss = tiny.model->loss_sum(ids.narrow(0, row, 1), targets.narrow(0, row, 1));
    (loss / static_cast<double>(batch.scored)).backward();
    std::size_t i = 0;
    for (const auto& group : tiny.parameters->groups()) {
      if (row == 0) sums.push_back(at::zeros_like(group.gradient, at::kFloat));
      sums[i++].add_(group.gradient);
    }
  }
  return sums;
}

// With beta1 = 0 and no clipping the first moment is the gradient. Parts that are added in their
// bfloat16 buffer differ from the sum in every second value.
TEST(Learner, SumsBfloat16PartsInFloat32) {
  TinyModel tiny("hybrid_norm_star", Precision::bfloat16);
  const auto batch = uneven_batch();
  const auto expected = sums_of_parts(tiny, batch);
  train::Learner learner({.beta1 = 0, .clip = 0}, *tiny.model, *tiny.parameters);
  learner.learn(batch, /*rows=*/1, /*rate=*/0);
  const auto& actual = learner.optimizer().first();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(actual[i], expected[i], 0, 0)) << "group " << i;
  }
}

TEST(Learner, HasTheSameBitsForAnyNumberOfThreads) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    const auto one = masters_after(precision, 4, 1);
    const auto two = masters_after(precision, 4, 2);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i]));
  }
}

class BadGradients : public ::testing::TestWithParam<float> {};

TEST_P(BadGradients, NeverTouchWeightsOrMoments) {
  TinyModel tiny("hybrid_norm_star", Precision::float32);
  train::Learner learner({}, *tiny.model, *tiny.parameters);
  learner.learn(uneven_batch(), 3, 1e-2);
  auto poisoned = tiny.parameters->at("blocks.1.feed_forward.up_gate.weight").master;
  poisoned[0][0] = GetParam();
  std::vector<at::Tensor> before;
  for (const auto& group : tiny.parameters->groups()) before.push_back(group.master.clone());
  for (const auto& moment : learner.optimizer().first()) before.push_back(moment.clone());
  for (const auto& moment : learner.optimizer().second()) before.push_back(moment.clone());

  const auto outcome = learner.learn(uneven_batch(), 3, 1e-2);

  EXPECT_FALSE(outcome.applied);
  EXPECT_EQ(learner.updates(), 1);
  std::size_t i = 0;
  for (const auto& group : tiny.parameters->groups()) {
    EXPECT_TRUE(close(group.master.nan_to_num(0, 0, 0), before[i].nan_to_num(0, 0, 0), 0, 0));
    ++i;
  }
  for (const auto& moment : learner.optimizer().first()) EXPECT_TRUE(moment.equal(before[i++]));
  for (const auto& moment : learner.optimizer().second()) EXPECT_TRUE(moment.equal(before[i++]));
}

INSTANTIATE_TEST_SUITE_P(Values, BadGradients,
                         ::testing::Values(std::numeric_limits<float>::quiet_NaN(),
                                           std::numeric_limits<float>::infinity(),
                                           -std::numeric_limits<float>::infinity()));

TEST(Learner, ClipsByTheNormOverAllParameters) {
  TinyModel tiny("hybrid_norm_star", Precision::float64);
  train::Learner gentle({.clip = 1e-3}, *tiny.model, *tiny.parameters);
  EXPECT_TRUE(gentle.learn(uneven_batch(), 6, 0).clipped);
  train::Learner free({.clip = 0}, *tiny.model, *tiny.parameters);
  EXPECT_FALSE(free.learn(uneven_batch(), 6, 0).clipped);
}

}  // namespace
}  // namespace evenkeel
