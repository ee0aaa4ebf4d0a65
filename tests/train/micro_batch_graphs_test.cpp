// SPDX-License-Identifier: Apache-2.0
// The rule for CUDA graphs. tests/cuda/micro_batch_graphs_test.cpp compares their bits.
#include "evenkeel/train/micro_batch_graphs.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "evenkeel/train/hooks.h"
#include "evenkeel/train/learner.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Precision;
using testing::tiny_shape;
using testing::TinyModel;
using train::can_be_captured;

const at::Device kGpu(at::kCUDA, 0);

TEST(MicroBatchGraphs, CaptureDenseModelsOnAGpu) {
  for (const std::string name : {"hybrid_norm_star", "pre_norm", "post_norm"}) {
    const TinyModel tiny(name);
    EXPECT_TRUE(can_be_captured(*tiny.model, kGpu, {})) << name;
    EXPECT_FALSE(can_be_captured(*tiny.model, at::kCPU, {})) << name;
  }
}

TEST(MicroBatchGraphs, DoNotCaptureAMixtureOfExperts) {
  auto shape = tiny_shape(2);
  shape.experts = {.count = 4, .active = 2};
  const TinyModel tiny("pre_norm", Precision::float32, {}, shape);
  EXPECT_FALSE(can_be_captured(*tiny.model, kGpu, {}));
}

TEST(MicroBatchGraphs, DoNotCaptureASchemeThatNamesTheStep) {
  const TinyModel tiny("prores");
  EXPECT_TRUE(tiny.model->names_step());
  EXPECT_FALSE(can_be_captured(*tiny.model, kGpu, {}));
}

TEST(MicroBatchGraphs, DoNotCaptureReferenceImplementations) {
  const TinyModel tiny("pre_norm", Precision::float32, {.fused = false});
  EXPECT_FALSE(can_be_captured(*tiny.model, kGpu, {}));
}

TEST(MicroBatchGraphs, DoNotCaptureAPassWithACallback) {
  const TinyModel tiny("pre_norm");
  nn::Observer attention, stream;
  attention.attention = [](std::int64_t, const nn::AttentionInputs&) {};
  stream.stream = [](std::int64_t, const at::Tensor&) {};
  EXPECT_FALSE(can_be_captured(*tiny.model, kGpu, attention));
  EXPECT_FALSE(can_be_captured(*tiny.model, kGpu, stream));
}

// qk_clip takes the largest scores of each pass. unit_norm acts between steps.
TEST(MicroBatchGraphs, DoNotCaptureAHookThatObservesPasses) {
  const std::vector<std::pair<std::string, bool>> cases = {{"qk_clip", false},
                                                           {"scale_norm_fix_norm", true}};
  for (const auto& [name, is_captured] : cases) {
    TinyModel tiny(name);
    const train::Hooks hooks(*tiny.model, *tiny.parameters);
    EXPECT_EQ(can_be_captured(*tiny.model, kGpu, hooks.observer()), is_captured) << name;
  }
}

TEST(Model, CountsTheEvaluationsOfItsExpressions) {
  const TinyModel fixed("pre_norm"), stepped("prores");
  for (const auto* const tiny : {&fixed, &stepped}) {
    tiny->model->at_step({.done = 7, .planned = TinyModel::kPlannedSteps});
    EXPECT_EQ(tiny->model->evaluations(), tiny == &fixed ? 0 : 1);
    tiny->model->at_step({.done = 7, .planned = TinyModel::kPlannedSteps + 1});
    EXPECT_EQ(tiny->model->evaluations(), tiny == &fixed ? 1 : 2);
  }
}

TEST(Parameters, CallBuffersWrittenThatAGraphHasWritten) {
  TinyModel tiny("pre_norm", Precision::float32);
  auto gradients = tiny.parameters->gradients();
  for (const auto& each : gradients) each.fill_(3);
  tiny.parameters->zero_gradients();
  tiny.parameters->mark_gradients_written();
  gradients = tiny.parameters->gradients();
  for (const auto& each : gradients) EXPECT_TRUE(each.eq(3).all().item<bool>());
}

// The key has no effect on the CPU.
TEST(Learner, HasNoGraphsOnTheCpu) {
  TinyModel tiny("pre_norm", Precision::float32);
  train::Learner learner({}, *tiny.model, *tiny.parameters, {}, {}, {.cuda_graphs = true});
  const auto ids = testing::fixed_token_ids(2, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  const data::Batch batch{{values, values + 32}, {values, values + 32}, 2, 32};
  for (int step = 0; step < 4; ++step) EXPECT_TRUE(learner.train_step(batch, 1, 1e-2).applied);
  EXPECT_EQ(learner.graphs().captures(), 0);
  EXPECT_EQ(learner.graphs().take_failure(), "");
}

}  // namespace
}  // namespace evenkeel
