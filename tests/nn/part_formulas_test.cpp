// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/norm/kind.h"
#include "support/close.h"
#include "support/tiny_model.h"

/// Parts of a model against their formulas, which no two paths of the program share.
namespace evenkeel {
namespace {

using nn::Precision;
using testing::close;
using testing::fixed_token_ids;
using testing::tiny_shape;
using testing::TinyModel;

TEST(Parallel, AddsBothBranchesTimesTheirOwnScales) {
  const auto source = config::inline_scheme(
      "layout = 'parallel'\nattention = { input = 'norm', branch_scale = 0.5 }\n"
      "feed_forward = { input = 'norm', branch_scale = 3 }",
      ".");
  const TinyModel tiny(source, Precision::float64, {}, tiny_shape(1));
  at::Tensor x, attention, feed_forward, y;
  nn::Observer observer;
  observer.branch = [&](std::int64_t, nn::Sublayer sublayer, const at::Tensor& stream,
                        const at::Tensor& branch) {
    x = stream;
    (sublayer == nn::Sublayer::attention ? attention : feed_forward) = branch;
  };
  observer.stream = [&](std::int64_t l, const at::Tensor& stream) {
    if (l == 1) y = stream;
  };
  const at::NoGradGuard no_grad;
  tiny.model->hidden(fixed_token_ids(2, 8), {.observer = &observer});
  EXPECT_TRUE(close(y, x + 0.5 * attention + 3 * feed_forward, 1e-12, 1e-13));
}

TEST(NormLayerFormula, ScalesAZeroCentredGainAfterAddingOne) {
  at::manual_seed(4);
  const auto x = at::randn({2, 3, 8}, at::kDouble), w = at::randn({8}, at::kDouble);
  norm::Norm norm{.gain_form = norm::GainForm::one_plus_w};
  norm.out_scale = 3;
  const auto root = (x.square().mean(-1, true) + norm.epsilon).sqrt();
  for (const bool fused : {true, false}) {
    const auto y = nn::NormLayer(norm, {}, 8, 1, {.gain = w}, fused)(x, nn::Mode::evaluation);
    EXPECT_TRUE(close(y, 3 * (1 + w) * x / root, 1e-12, 1e-14)) << fused;
  }
}

TEST(NormLayerFormula, ScalesTheBiasOfABatchNorm) {
  at::manual_seed(4);
  const auto x = at::randn({2, 5, 8}, at::kDouble), gain = at::randn({8}, at::kDouble),
             bias = at::randn({8}, at::kDouble);
  auto norm = norm::default_norm(norm::Kind::batch_norm);
  norm.affine = norm::Affine::vector_bias;
  norm.out_scale = 3;
  const auto rows = x.flatten(0, 1);
  const auto hat = (rows - rows.mean(0)) / (rows.var(0, false) + norm.epsilon).sqrt();
  for (const bool fused : {true, false}) {
    nn::NormTensors tensors{.gain = gain, .bias = bias};
    tensors.running_mean = at::zeros({8}, at::kDouble);
    tensors.running_scale = at::ones({8}, at::kDouble);
    const auto y = nn::NormLayer(norm, {}, 8, 1, tensors, fused)(x, nn::Mode::training);
    EXPECT_TRUE(close(y, (3 * (gain * hat + bias)).view_as(x), 1e-11, 1e-13)) << fused;
  }
}

class StepOfNorm : public ::testing::TestWithParam<const char*> {};
TEST_P(StepOfNorm, FollowsTheStep) {
  const auto source = config::inline_scheme(GetParam(), ".");
  const TinyModel stepped(source, Precision::float64, {}, tiny_shape(2)),
      other(source, Precision::float64, {}, tiny_shape(2));
  nn::ModelOptions options;
  options.tied = true;
  options.vocabulary = stepped.model->scheme().shape.vocabulary;
  const norm::Steps later{.done = 7, .planned = 100};
  const nn::Model built(other.model->scheme(), options, *other.parameters, later);
  const at::NoGradGuard no_grad;
  const auto logits = [](const nn::Model& m) {
    return m.logits(m.hidden(fixed_token_ids(2, 8), {.mode = nn::Mode::training}));
  };
  const auto before = logits(*stepped.model);
  stepped.model->at_step(later);
  EXPECT_TRUE(logits(*stepped.model).equal(logits(built)));
  EXPECT_FALSE(logits(*stepped.model).equal(before));
}
INSTANTIATE_TEST_SUITE_P(
    All, StepOfNorm,
    ::testing::Values(
        "attention = { k = { kind = 'rms_norm', scope = 'head', out_scale = '1 + t' } }",
        "attention = { v = { kind = 'rms_norm', scope = 'head', out_scale = '1 + t' } }",
        "attention = { context = { kind = 'rms_norm', out_scale = '1 + t' } }"));

/// A loss and the logits that it is of agree, with and without fused operators.
TEST(Head, HasTheLossOfItsLogits) {
  for (const auto* const toml :
       {"logits = { scale = 0.5 }", "logits = { scale = '8/d', softcap = 1.5 }",
        "logits = { scale = { learned = 'vector', init = 0.5 } }"}) {
    for (const bool fused : {true, false}) {
      const TinyModel tiny(config::inline_scheme(toml, "."), Precision::float64, {.fused = fused},
                           tiny_shape(1));
      const at::NoGradGuard no_grad;
      const auto ids = fixed_token_ids(2, 8), targets = ids.roll(-1, 1);
      const auto logits = tiny.model->logits(tiny.model->hidden(ids)).flatten(0, 1);
      const auto wanted = at::cross_entropy_loss(logits, targets.flatten(), {}, at::Reduction::Sum);
      EXPECT_TRUE(close(tiny.model->loss_sum(ids, targets), wanted, 1e-12, 0)) << toml << fused;
    }
  }
}

/// A learned scale of a head's scores is a factor on that head's rows of W_q.
TEST(Attention, ScalesTheScoresOfEachHeadByItsOwnValue) {
  const auto shape = tiny_shape(1);
  const TinyModel learned(
      config::inline_scheme("attention = { score_scale = { learned = 'per_head', init = 1 } }",
                            "."),
      Precision::float64, {}, shape);
  const TinyModel plain(config::inline_scheme("attention = { score_scale = 1 }", "."),
                        Precision::float64, {}, shape);
  const at::NoGradGuard no_grad;
  const auto scale = at::linspace(0.5, 2, shape.heads, at::kDouble);
  at::Tensor(learned.parameters->at("blocks.0.attention.score_scale").master).copy_(scale);
  learned.parameters->copy_masters_to_values();
  auto qkv = plain.parameters->at("blocks.0.attention.qkv.weight").master;
  qkv.narrow(0, 0, shape.width)
      .mul_(scale.repeat_interleave(shape.width / shape.heads).unsqueeze(-1));
  plain.parameters->copy_masters_to_values();
  const auto ids = fixed_token_ids(2, 8);
  EXPECT_TRUE(close(learned.model->logits(learned.model->hidden(ids)),
                    plain.model->logits(plain.model->hidden(ids)), 1e-11, 1e-12));
}

TEST(Factor, ActsThroughItsFunction) {
  using Transform = norm::Learned::Transform;
  const auto parameter = at::tensor({-2.0, 3.0}, at::kDouble);
  const auto value = [&](Transform transform) {
    return nn::Factor(norm::Learned{.transform = transform}, {}, parameter).value();
  };
  EXPECT_TRUE(close(value(Transform::abs), at::tensor({2.0, 3.0}, at::kDouble), 0, 0));
  EXPECT_TRUE(close(value(Transform::exp), at::tensor({std::exp(-2.0), std::exp(3.0)}, at::kDouble),
                    1e-15, 0));
  EXPECT_TRUE(close(value(Transform::silu),
                    at::tensor({-2 / (1 + std::exp(2.0)), 3 / (1 + std::exp(-3.0))}, at::kDouble),
                    1e-14, 0));
}

}  // namespace
}  // namespace evenkeel
