// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/activation_checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/attention_inputs.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/observer.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Precision;
using nn::Recompute;
using testing::fixed_token_ids;
using testing::TinyModel;

// y = w x^2 and z = x + w, where w is no input: its gradient is added where backward() adds it.
TEST(ActivationCheckpoint, HasTheGradientsOfTheSegment) {
  const auto w = at::full({}, 3.0, at::kDouble).requires_grad_();
  const auto x = at::full({}, 5.0, at::kDouble).requires_grad_();
  std::vector<bool> calls;
  const auto results = ops::run_checkpointed(
      [&](const ops::Tensors& in, bool is_recomputation) {
        calls.push_back(is_recomputation);
        return ops::Tensors{w * in[0] * in[0], in[0] + w};
      },
      {x});
  (2 * results[0] + results[1]).backward();
  EXPECT_EQ(calls, std::vector<bool>({false, true}));
  EXPECT_EQ(x.grad().item<double>(), 2 * 2 * 3 * 5 + 1);
  EXPECT_EQ(w.grad().item<double>(), 2 * 25 + 1);
}

TEST(ActivationCheckpoint, SkipsResultsThatNobodyUses) {
  const auto x = at::full({}, 5.0, at::kDouble).requires_grad_();
  const auto results = ops::run_checkpointed(
      [](const ops::Tensors& in, bool) { return ops::Tensors{in[0] * 2, in[0] * 3}; }, {x});
  results[1].backward();
  EXPECT_EQ(x.grad().item<double>(), 3);
}

struct CheckpointedStep {
  at::Tensor loss;
  std::vector<at::Tensor> gradients;
};

CheckpointedStep step_of(const std::string& scheme, Precision precision, Recompute recompute) {
  TinyModel tiny(scheme, precision, {.recompute = recompute});
  const auto ids = fixed_token_ids(2, 8);
  auto loss = tiny.model->loss_sum(ids, ids.roll(-1, 1), {.mode = nn::Mode::training});
  loss.backward();
  CheckpointedStep step{loss.detach(), {}};
  step.gradients = tiny.parameters->gradients();
  return step;
}

void expect_equal(const CheckpointedStep& ours, const CheckpointedStep& wanted,
                  const std::string& scheme) {
  EXPECT_TRUE(ours.loss.equal(wanted.loss)) << scheme;
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i) {
    EXPECT_TRUE(ours.gradients[i].equal(wanted.gradients[i])) << scheme << " " << i;
  }
}

// Every scheme that "block" does not refuse, among them two streams, parallel blocks and taps of
// the block's input. Norms over a batch, which update a state, are not recomputed.
TEST(Recompute, ChangesNoBit) {
  int refused = 0;
  for (const auto& name : config::catalogue()) {
    const bool refuses = !TinyModel(name).parameters->states().empty();
    if (refuses) ++refused;
    for (const auto precision : {Precision::float32, Precision::bfloat16}) {
      const auto wanted = step_of(name, precision, Recompute::none);
      expect_equal(step_of(name, precision, Recompute::norms), wanted, name);
      if (!refuses) expect_equal(step_of(name, precision, Recompute::block), wanted, name);
    }
  }
  EXPECT_EQ(refused, 3);  // batch_norm, batch_renorm, sigma_reparam
}

/// The calls of an observer in one training step.
struct ObservedCalls {
  std::map<std::string, int> counts;  // by callback and block
  std::vector<at::Tensor> tensors;    // in the order of the calls
  int with_graph = 0;                 // calls inside a block while autograd records
};

ObservedCalls observed_calls(const std::string& scheme, Recompute recompute, bool keeps_graph) {
  auto shape = testing::tiny_shape(3);
  shape.experts = {.count = 4, .active = 2};
  TinyModel tiny(scheme, Precision::float32, {.recompute = recompute}, shape);
  ObservedCalls calls;
  const auto record = [&](const std::string& callback, std::int64_t l, const at::Tensor& tensor) {
    ++calls.counts[callback + std::to_string(l)];
    calls.tensors.push_back(tensor.detach().clone());
    if (callback != "stream") calls.with_graph += at::GradMode::is_enabled() ? 1 : 0;
  };
  nn::Observer observer;
  observer.stream = [&](std::int64_t l, const at::Tensor& x) { record("stream", l, x); };
  observer.branch = [&](std::int64_t l, nn::Sublayer sublayer, const at::Tensor&,
                        const at::Tensor& x) {
    record(sublayer == nn::Sublayer::attention ? "attention" : "feed_forward", l, x);
  };
  observer.attention = [&](std::int64_t l, const nn::AttentionInputs& in) { record("q", l, in.q); };
  observer.routing = [&](std::int64_t l, const nn::Routing& routing) {
    record("router", l, routing.logits);
  };
  const auto ids = fixed_token_ids(2, 8);
  const nn::Pass pass = {
      .mode = nn::Mode::training, .observer = &observer, .keeps_graph = keeps_graph};
  tiny.model->loss_sum(ids, ids.roll(-1, 1), pass).backward();
  for (const auto& gradient : tiny.parameters->gradients()) calls.tensors.push_back(gradient);
  return calls;
}

// An observed pass is checkpointed, too: callbacks inside a block run without a graph, and not
// again in the backward pass.
TEST(Recompute, CallsEachObserverOnce) {
  for (const std::string scheme : {"hybrid_norm_star", "pre_norm", "resi_dual", "parallel"}) {
    const auto wanted = observed_calls(scheme, Recompute::none, /*keeps_graph=*/false);
    const auto ours = observed_calls(scheme, Recompute::block, /*keeps_graph=*/false);
    EXPECT_EQ(wanted.with_graph, 3 * 4) << scheme;
    EXPECT_EQ(ours.with_graph, 0) << scheme;
    EXPECT_EQ(ours.counts, wanted.counts) << scheme;
    for (const auto& [callback, count] : ours.counts) EXPECT_EQ(count, 1) << scheme << callback;
    ASSERT_EQ(ours.tensors.size(), wanted.tensors.size()) << scheme;
    for (std::size_t i = 0; i < wanted.tensors.size(); ++i) {
      EXPECT_TRUE(ours.tensors[i].equal(wanted.tensors[i])) << scheme << " " << i;
    }
    EXPECT_EQ(observed_calls(scheme, Recompute::block, /*keeps_graph=*/true).with_graph, 3 * 4);
  }
}

TEST(Recompute, IsRefusedWhereAPassMovesAState) {
  try {
    TinyModel("batch_norm", Precision::float64, {.recompute = Recompute::block});
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_STREQ(error.what(),
                 "model.recompute = \"block\" is not for scheme batch_norm: each pass moves its "
                 "blocks.0.attention.input_norm.running_mean, and a block that is computed twice "
                 "would move it twice; take \"norms\"");
  }
}

}  // namespace
}  // namespace evenkeel
