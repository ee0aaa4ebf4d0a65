// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/z_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/probe/probe.h"
#include "evenkeel/train/learner.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Precision;
using testing::close;
using testing::TinyModel;

constexpr double kZLoss = 0.05;

/// Rows of different lengths: a mean of means would differ from the mean over all tokens.
data::Batch batch_of_lengths() {
  const auto ids = testing::fixed_token_ids(6, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{{values, values + 96}, {values, values + 96}, 6, 0};
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const bool padding = i % 16 >= 3 + 2 * (i / 16);
    if (padding) batch.targets[i] = data::kIgnoreIndex;
    batch.scored += padding ? 0 : 1;
  }
  return batch;
}

/// What a training step should compute, from logits by autograd.
struct Expected {
  double loss = 0, z_loss = 0;
  std::vector<at::Tensor> gradients;

  explicit Expected(TinyModel& tiny) {
    const auto batch = batch_of_lengths();
    const auto [ids, targets] = nn::batch_tensors(batch.inputs, batch.targets, batch.rows);
    tiny.parameters->zero_gradients();
    const auto x = tiny.model->hidden(ids, {.mode = nn::Mode::training});
    const auto logits = tiny.model->logits(x).flatten(0, 1);
    const auto scored = (targets.flatten() >= 0).nonzero().flatten();
    const auto rows = logits.index_select(0, scored);
    const auto wanted = targets.flatten().index_select(0, scored).unsqueeze(-1);
    const auto cross_entropy = -at::log_softmax(rows, -1).gather(-1, wanted).mean();
    const auto squared_lse = at::exp(rows).sum(-1).log().square().mean();
    (cross_entropy + kZLoss * squared_lse).backward();
    loss = cross_entropy.item<double>();
    z_loss = squared_lse.item<double>();
    for (const auto& each : tiny.parameters->gradients()) gradients.push_back(each.clone());
  }
};

struct ZLossCase {
  std::string name, scheme = "hybrid_norm_star";
  nn::ModelOptions options = {};
};

TinyModel model_of(const ZLossCase& one, Precision precision) {
  return TinyModel(one.scheme, precision, one.options);
}

class ZLoss : public ::testing::TestWithParam<ZLossCase> {};

// loss = mean of -ln p + c lse^2 (PaLM, section 5). The first moment with beta1 = 0 and no clipping
// is the gradient.
TEST_P(ZLoss, HasTheGradientOfItsFormula) {
  for (const std::int64_t rows : {6, 2, 1}) {
    auto tiny = model_of(GetParam(), Precision::float64);
    const Expected expected(tiny);
    train::Learner learner({.beta1 = 0, .clip = 0}, *tiny.model, *tiny.parameters, {}, {},
                           {.z_loss = kZLoss});
    const auto result = learner.train_step(batch_of_lengths(), rows, /*rate=*/0);
    EXPECT_NEAR(result.loss, expected.loss, 1e-12);
    ASSERT_TRUE(result.z_loss);
    EXPECT_NEAR(*result.z_loss, expected.z_loss, 1e-12 * expected.z_loss);
    const auto& actual = learner.optimizer().first_moments();
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_TRUE(close(actual[i], expected.gradients[i], 1e-10, 1e-12)) << rows << ", group " << i;
    }
  }
}

// The gradients of a probe are those of a step, and its loss is the cross-entropy.
TEST_P(ZLoss, IsInTheGradientsOfAProbe) {
  auto tiny = model_of(GetParam(), Precision::float64);
  train::Learner learner({}, *tiny.model, *tiny.parameters, {}, {}, {.z_loss = kZLoss});
  const auto step = learner.train_step(batch_of_lengths(), 2, /*rate=*/0);
  auto fresh = model_of(GetParam(), Precision::float64);  // a hook changes weights after a step
  const auto probed =
      probe::run_probe(*fresh.model, *fresh.parameters, {.z_loss = kZLoss}, batch_of_lengths(),
                       {"grad_norm"}, 2, TinyModel::kPlannedSteps);
  EXPECT_NEAR(probed.loss, step.loss, 1e-12);
  EXPECT_NEAR(probed.find("grad_norm", "model")->values[0], step.gradient_norm, 1e-9);
}

// The loss that is reported is the cross-entropy: the bits of a step without a z-loss.
TEST_P(ZLoss, IsNotInTheReportedLoss) {
  for (const auto precision : {Precision::float64, Precision::float32, Precision::bfloat16}) {
    const auto step = [&](double z_loss) {
      auto tiny = model_of(GetParam(), precision);
      train::Learner learner({}, *tiny.model, *tiny.parameters, {}, {}, {.z_loss = z_loss});
      return learner.train_step(batch_of_lengths(), 2, /*rate=*/0);
    };
    const auto with = step(kZLoss), without = step(0);
    EXPECT_EQ(with.loss, without.loss);
    EXPECT_NE(with.gradient_norm, without.gradient_norm);
    EXPECT_FALSE(without.z_loss);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, ZLoss,
    ::testing::Values(ZLossCase{.name = "tied"},
                      ZLossCase{.name = "untied", .options = {.tied = false}},
                      ZLossCase{.name = "masked", .options = {.document_end = 3}},
                      ZLossCase{.name = "formula", .options = {.fused = false}},
                      ZLossCase{.name = "capped", .scheme = "gemma2"},
                      ZLossCase{.name = "learned_scale", .scheme = "ngpt"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace evenkeel
