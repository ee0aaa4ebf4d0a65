// SPDX-License-Identifier: Apache-2.0
// Training with CUDA graphs has the bits of training without.
#include "evenkeel/train/micro_batch_graphs.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "evenkeel/ops/common/gpu_graph.h"
#include "evenkeel/train/learner.h"
#include "support/tiny_model.h"

namespace evenkeel::testing {
namespace {

using nn::Precision;

constexpr std::int64_t kRows = 6;   // of a batch
constexpr std::int64_t kSteps = 8;  // of a training
constexpr std::int64_t kSkippedStep = 5;

/// A training with and without graphs.
struct GraphCase {
  std::string scheme;
  Precision precision = Precision::bfloat16;
  std::int64_t micro_batch_size = 2;
  std::int64_t shards = 1;
  nn::ModelOptions options = {};
  norm::Shape shape = tiny_shape(3);
  bool must_be_captured = true;
  double z_loss = 0;
};

struct Trained {
  std::vector<double> losses, z_losses, norms;
  std::vector<at::Tensor> tensors;  // masters, values, gradients and states
  std::int64_t captures = 0, launches = 0;
  std::string failure;
};

/// Other tokens in each step, and another number of scored ones.
data::Batch batch_of_step(std::int64_t step, const norm::Shape& shape) {
  const auto size = kRows * shape.context;
  const auto all = fixed_token_ids(1, size + kSteps, shape.vocabulary).flatten();
  const auto ids = all.narrow(0, step, size).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{{values, values + size}, {values, values + size}, kRows, 0};
  for (std::int64_t i = 0; i < size; ++i) {
    const bool is_masked = i % 7 <= step % 3;
    if (is_masked) batch.targets[static_cast<std::size_t>(i)] = data::kIgnoreIndex;
    batch.scored += is_masked ? 0 : 1;
  }
  return batch;
}

Trained trained(const GraphCase& one, bool cuda_graphs) {
  TinyModel tiny(one.scheme, one.precision, one.options, one.shape);
  train::Learner learner({}, *tiny.model, *tiny.parameters, {}, {.shards = one.shards},
                         {.cuda_graphs = cuda_graphs, .z_loss = one.z_loss});
  learner.before_training(fixed_token_ids(kRows, one.shape.context));
  Trained result;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const auto done =
        learner.train_step(batch_of_step(step, one.shape), one.micro_batch_size, 1e-2,
                           [&](const train::StepResult&) { return step != kSkippedStep; });
    result.losses.push_back(done.loss);
    result.z_losses.push_back(done.z_loss.value_or(0));
    result.norms.push_back(done.gradient_norm);
    tiny.model->at_step({.done = step + 1, .planned = TinyModel::kPlannedSteps});
  }
  for (const auto& group : tiny.parameters->groups()) {
    for (const auto& each : {group.master, group.value, group.gradient}) {
      result.tensors.push_back(each.detach().cpu());
    }
  }
  for (const auto& [name, state] : tiny.parameters->states()) result.tensors.push_back(state.cpu());
  result.captures = learner.graphs().captures();
  result.launches = learner.graphs().launches();
  result.failure = learner.graphs().take_failure();
  return result;
}

class GpuGraphs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ops::gpu_count() == 0) GTEST_SKIP() << "no GPU was found";
    ops::set_compute_device({at::kCUDA, 0});
  }
  void TearDown() override {
    if (ops::gpu_count() > 0) ops::set_compute_device(at::kCPU);
  }
};

class CudaGraphs : public GpuGraphs, public ::testing::WithParamInterface<GraphCase> {};

TEST_P(CudaGraphs, HaveTheBitsOfPassesWithoutGraphs) {
  const auto& one = GetParam();
  const auto without = trained(one, /*cuda_graphs=*/false);
  const auto with = trained(one, /*cuda_graphs=*/true);
  RecordProperty("captures", static_cast<int>(with.captures));
  RecordProperty("failure", with.failure);
  EXPECT_EQ(without.captures, 0);
  EXPECT_EQ(with.losses, without.losses);
  EXPECT_EQ(with.z_losses, without.z_losses);
  EXPECT_EQ(with.norms, without.norms);
  ASSERT_EQ(with.tensors.size(), without.tensors.size());
  for (std::size_t i = 0; i < with.tensors.size(); ++i) {
    EXPECT_TRUE(with.tensors[i].equal(without.tensors[i])) << "tensor " << i;
  }
  if (!one.must_be_captured) return;
  EXPECT_EQ(with.failure, "");
  const auto per_shard = kRows / one.shards;
  const auto parts = (per_shard + one.micro_batch_size - 1) / one.micro_batch_size;
  const std::int64_t graphs = parts > 1 ? 2 : 1;  // the first micro-batch and later ones
  constexpr std::int64_t kWarmUps = 2;
  EXPECT_EQ(with.captures, graphs);
  EXPECT_EQ(with.launches, kSteps * one.shards * parts - kWarmUps * graphs);
}

/// cuDNN's attention: lengths of whole 128s.
norm::Shape long_shape() {
  return {.layers = 2,
          .width = 128,
          .heads = 2,
          .kv_heads = 1,
          .inner = 128,
          .vocabulary = 31,
          .context = 128};
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, CudaGraphs,
    ::testing::Values(
        GraphCase{"hybrid_norm_star"}, GraphCase{"hybrid_norm_star", Precision::float32},
        GraphCase{"hybrid_norm_star", Precision::float64},
        GraphCase{"pre_norm", Precision::bfloat16, 6},  // one micro-batch a step
        GraphCase{"pre_norm", Precision::bfloat16, 4},  // a smaller one at the end
        GraphCase{"pre_norm", Precision::bfloat16, 1, 3},
        GraphCase{"pre_norm", Precision::bfloat16, 2, 1, {.tied = false}},
        GraphCase{"pre_norm", Precision::bfloat16, 2, 1, {.recompute = nn::Recompute::block}},
        GraphCase{"pre_norm", Precision::bfloat16, 2, 1, {.recompute = nn::Recompute::norms}},
        GraphCase{"pre_norm", Precision::bfloat16, 2, 1, {.document_end = 3}},
        GraphCase{"pre_norm", Precision::bfloat16, 2, 1, {}, long_shape()},
        GraphCase{"pre_norm", Precision::bfloat16, 2, 1, {}, tiny_shape(3), true, 0.01},
        GraphCase{"scale_norm_fix_norm"}, GraphCase{"resi_dual"}, GraphCase{"weight_norm"},
        // With states, which each pass changes once. A capture may fail.
        GraphCase{"sigma_reparam", Precision::bfloat16, 2, 1, {}, tiny_shape(3), false},
        GraphCase{"batch_norm", Precision::bfloat16, 2, 1, {}, tiny_shape(3), false},
        GraphCase{"batch_renorm", Precision::float32, 2, 1, {}, tiny_shape(3), false},
        // Without graphs.
        GraphCase{"prores", Precision::bfloat16, 2, 1, {}, tiny_shape(3), false},
        GraphCase{"qk_clip", Precision::bfloat16, 2, 1, {}, tiny_shape(3), false}),
    [](const auto& instance) { return text(instance.param.scheme, "_", instance.index); });

TEST_F(GpuGraphs, RunTheirKernelsAtEachLaunchOnly) {
  const auto x = at::zeros({3}, at::device(at::kCUDA).dtype(at::kFloat));
  ops::GpuGraphs graphs({at::kCUDA, 0});
  graphs.warm_up([&] { x.add_(1); });
  EXPECT_TRUE(x.cpu().equal(at::full({3}, 1.F)));
  const auto graph = graphs.capture([&] { x.add_(10); });
  EXPECT_TRUE(x.cpu().equal(at::full({3}, 1.F)));
  for (int i = 0; i < 2; ++i) graphs.launch(graph);
  EXPECT_TRUE(x.cpu().equal(at::full({3}, 21.F)));
}

// The allocator must release cached memory afterwards, and later captures must succeed.
TEST_F(GpuGraphs, SurviveACaptureThatFails) {
  const auto x = at::ones({3}, at::device(at::kCUDA).dtype(at::kFloat));
  ops::GpuGraphs graphs({at::kCUDA, 0});
  const auto good = graphs.capture([&] { x.add_(10); });
  EXPECT_THROW(graphs.capture([&] { x.sum().item<float>(); }), c10::Error);
  graphs.launch(good);
  EXPECT_TRUE(x.cpu().equal(at::full({3}, 11.F)));
  const auto later = graphs.capture([&] { x.mul_(2); });
  graphs.launch(later);
  EXPECT_TRUE(x.cpu().equal(at::full({3}, 22.F)));
  EXPECT_TRUE(graphs.has_memory_for_capture());
}

// A profiler sees the operators of all passes.
TEST_F(GpuGraphs, DoNotRunUnderAProfiler) {
  TinyModel tiny("pre_norm", Precision::float32);
  const train::MicroBatchGraphs graphs(*tiny.model, *tiny.parameters, /*is_on=*/true);
  EXPECT_TRUE(graphs.takes({}));
  const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction&) {
                              return std::unique_ptr<at::ObserverContext>();
                            }).scopes({at::RecordScope::FUNCTION}));
  EXPECT_FALSE(graphs.takes({}));
  at::removeCallback(handle);
  EXPECT_TRUE(graphs.takes({}));
}

}  // namespace
}  // namespace evenkeel::testing
