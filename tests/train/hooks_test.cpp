// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/hooks.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "evenkeel/nn/attention_inputs.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/train/learner.h"
#include "evenkeel/train/tensor_file.h"
#include "support/close.h"
#include "support/golden_files.h"
#include "support/tiny_model.h"

namespace evenkeel::train {
namespace {

using nn::Precision;
using testing::close;
using testing::fixed_token_ids;
using testing::golden_file;
using testing::TinyModel;

config::SchemeSource scheme_of(const std::string& toml) {
  return config::inline_scheme(toml, ".");
}

constexpr const char* kClipping =
    "extends = 'qk_clip'\n"
    "hooks = [{ kind = 'qk_clip', threshold = 0.75 }]\n";

struct Case {
  const char* name;
  const char* toml;
  std::int64_t kv_heads = 2;
};

class GoldenHooks : public ::testing::TestWithParam<Case> {};

// Weights before and after, as another program changed them.
TEST_P(GoldenHooks, ChangeTheWeightsAsGolden) {
  const auto& [name, toml, kv_heads] = GetParam();
  const auto file = store::Safetensors::read(golden_file("hooks"));
  const auto golden = [&](const std::string& what) {
    return tensor_of(file, std::string(name) + "." + what);
  };
  auto shape = testing::tiny_shape(2);
  shape.kv_heads = kv_heads;
  const auto scheme = config::bind(scheme_of(toml), shape);
  const bool tied = !file.has(std::string(name) + ".before.head.weight");
  nn::Parameters parameters(nn::parameter_specs(scheme, shape.vocabulary, tied),
                            Precision::float64);
  const nn::Model model(scheme, {.tied = tied, .vocabulary = shape.vocabulary}, parameters,
                        {.done = 0, .planned = 1});
  const at::NoGradGuard no_grad;
  for (const auto& parameter : parameters.all()) {
    at::Tensor(parameter.master).copy_(golden("before." + parameter.name));
  }
  Hooks hooks(model, parameters);
  model.hidden(golden("input_ids"), {.mode = nn::Mode::training, .observer = &hooks.observer()});
  hooks.after_update();
  int changed = 0;
  for (const auto& parameter : parameters.all()) {
    const bool changes = file.has(std::string(name) + ".after." + parameter.name);
    const auto expected = golden((changes ? "after." : "before.") + parameter.name);
    EXPECT_TRUE(close(parameter.master, expected, 1e-12, 1e-13)) << parameter.name;
    changed += changes ? 1 : 0;
  }
  EXPECT_GT(changed, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoldenHooks,
    ::testing::Values(Case{"ngpt", "extends = 'ngpt'"},
                      Case{"scalenorm_fixnorm", "extends = 'scale_norm_fix_norm'"},
                      Case{"qk_clip", kClipping}, Case{"qk_clip_all_heads", kClipping, 4}),
    [](const auto& one) { return std::string(one.param.name); });

data::Batch some_batch() {
  const auto ids = fixed_token_ids(2, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  return {{values, values + 32}, {values, values + 32}, 2, 32};
}

at::Tensor lengths(const at::Tensor& rows) {
  return rows.to(at::kDouble).norm(2, -1);
}

// At the start and after every step the rows of the embedding have length 1.
TEST(UnitNorm, HoldsFromTheFirstForwardPassOn) {
  for (const auto precision : {Precision::float64, Precision::bfloat16}) {
    TinyModel tiny("scale_norm_fix_norm", precision);
    const auto& embedding = tiny.parameters->at("embedding.weight");
    Learner learner({}, *tiny.model, *tiny.parameters);
    learner.before_training(fixed_token_ids(2, 16));
    for (int step = 0; step < 3; ++step) {
      EXPECT_TRUE(close(lengths(embedding.master), at::ones({32}), 1e-6, 0)) << step;
      EXPECT_TRUE(embedding.value.detach().equal(embedding.master.to(embedding.value.dtype())));
      EXPECT_TRUE(learner.train_step(some_batch(), 2, 1e-2).applied);
    }
  }
}

/// The largest score of each head of block 0, over the causal pairs.
at::Tensor largest_scores(const TinyModel& tiny, const at::Tensor& ids) {
  at::Tensor largest;
  nn::Observer observer;
  observer.attention = [&](std::int64_t l, const nn::AttentionInputs& inputs) {
    if (l > 1) return;
    const auto keys = inputs.k.repeat_interleave(inputs.q.size(1) / inputs.k.size(1), 1);
    const auto scores = inputs.scale * at::matmul(inputs.q, keys.transpose(-1, -2));
    const auto causal = at::ones_like(scores, at::kBool).tril();
    largest = scores.masked_fill(~causal, -1e30).amax({0, 2, 3});
  };
  const at::NoGradGuard no_grad;
  tiny.model->hidden(ids, {.observer = &observer});
  return largest;
}

// After a step of rate 0 no head of block 0, whose input the clip does not change, exceeds the
// threshold on the same batch; all parts of a split batch count.
TEST(QkClip, ClipsScoresToItsThreshold) {
  for (const std::int64_t kv_heads : {2, 4}) {
    for (const std::int64_t rows : {1, 2}) {
      auto shape = testing::tiny_shape(2);
      shape.kv_heads = kv_heads;
      TinyModel tiny(scheme_of(kClipping), Precision::float64, {}, shape);
      const auto before = largest_scores(tiny, fixed_token_ids(2, 16));
      ASSERT_GT(before.max().item<double>(), 0.75);
      Learner learner({.weight_decay = 0}, *tiny.model, *tiny.parameters);
      learner.train_step(some_batch(), rows, /*rate=*/0);
      const auto after = largest_scores(tiny, fixed_token_ids(2, 16));
      EXPECT_TRUE(close(after, before.clamp_max(0.75), 1e-12, 0)) << kv_heads << ", " << rows;
    }
  }
}

// Scores of a step that was not made must not clip the next one.
TEST(QkClip, DiscardsTheScoresOfASkippedStep) {
  TinyModel tiny(scheme_of(kClipping), Precision::float64, {}, testing::tiny_shape(2));
  Learner learner({.weight_decay = 0}, *tiny.model, *tiny.parameters);
  auto& parameters = *tiny.parameters;
  auto qkv = parameters.at("blocks.0.attention.qkv.weight").master;
  auto down = parameters.at("blocks.1.feed_forward.down.weight").master;
  const auto small_qkv = qkv * 1e-3;
  const auto saved = down.clone();
  down.fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(learner.train_step(some_batch(), 2, 0).applied);  // large scores, no update
  down.copy_(saved);
  qkv.copy_(small_qkv);
  EXPECT_TRUE(learner.train_step(some_batch(), 2, 0).applied);
  EXPECT_TRUE(qkv.equal(small_qkv));
}

// omega_1 = 1; omega_(i+1) = sqrt(var(omega_i x_i) + var(out_i)), over all values of the tensors.
// A second pass sees the streams that the first one had, since omega_i moves later ones only.
TEST(ProfileHook, FillsSkipVectorsWithTheDeviationsSoFar) {
  TinyModel tiny("admin");
  Hooks hooks(*tiny.model, *tiny.parameters);
  const auto ids = fixed_token_ids(2, 16);
  hooks.before_training(ids);
  std::vector<std::pair<at::Tensor, at::Tensor>>
      inputs_and_branches;  // stream and branch of each sublayer
  nn::Observer observer;
  observer.branch = [&](std::int64_t, nn::Sublayer, const at::Tensor& stream,
                        const at::Tensor& branch) {
    inputs_and_branches.emplace_back(stream.clone(), branch.clone());
  };
  const at::NoGradGuard no_grad;
  tiny.model->hidden(ids, {.observer = &observer});
  ASSERT_EQ(inputs_and_branches.size(), 6u);
  double omega = 1;
  for (std::size_t i = 0; i < inputs_and_branches.size(); ++i) {
    const auto name = "blocks." + std::to_string(i / 2) +
                      (i % 2 == 0 ? ".attention.skip_scale" : ".feed_forward.skip_scale");
    const auto& filled = tiny.parameters->at(name).master;
    EXPECT_TRUE(close(filled, at::full({16}, omega, at::kDouble), 1e-12, 0)) << name;
    const auto& [stream, branch] = inputs_and_branches[i];
    omega = std::sqrt((omega * stream).var(/*unbiased=*/false).item<double>() +
                      branch.var(/*unbiased=*/false).item<double>());
  }
  EXPECT_GT(omega, 1);
}

TEST(ProfileHook, ReadsTheFirstTokensOfALargeBatchOnly) {
  config::Config config;
  config.train.batch = 64;
  config.model.context = 256;
  EXPECT_EQ(Hooks::profile_sequences(config), 16);
  config.train.batch = 8;
  EXPECT_EQ(Hooks::profile_sequences(config), 8);
  config.model.context = 100'000;
  EXPECT_EQ(Hooks::profile_sequences(config), 1);
}

}  // namespace
}  // namespace evenkeel::train
