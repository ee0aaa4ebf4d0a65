// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/model.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/leakage.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::AttentionPath;
using nn::Precision;
using testing::close;
using testing::fixed_token_ids;
using testing::tiny_shape;
using testing::TinyModel;

at::Tensor logits_of(const TinyModel& tiny, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  return tiny.model->logits(tiny.model->hidden(ids));
}

/// Logits token by token, through the key-value cache.
at::Tensor decoded(const TinyModel& tiny, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  auto cache = tiny.model->empty_cache(ids.size(0), ids.size(1));
  std::vector<at::Tensor> steps;
  for (std::int64_t i = 0; i < ids.size(1); ++i) {
    steps.push_back(tiny.model->logits(tiny.model->hidden(ids.narrow(1, i, 1), {.cache = &cache})));
  }
  return at::cat(steps, 1);
}

/// The catalogue without the schemes that see later tokens in evaluation.
std::vector<std::string> causal_schemes() {
  auto names = config::catalogue();
  std::erase_if(names, [](const std::string& name) {
    return !norm::causal_in_evaluation(config::bind(config::find_scheme(name), tiny_shape(3)));
  });
  EXPECT_EQ(names.size(), config::catalogue().size() - 1);  // instance_norm
  return names;
}

TEST(Model, DecodesWithACacheWhatTheFullForwardGives) {
  const auto ids = fixed_token_ids(2, 8);
  for (const auto& name : causal_schemes()) {
    const TinyModel wide(name);
    EXPECT_TRUE(close(decoded(wide, ids), logits_of(wide, ids), 1e-12, 1e-12)) << name;
    const TinyModel narrow(name, Precision::float32);
    const auto full = logits_of(narrow, ids);
    EXPECT_TRUE(close(decoded(narrow, ids), full, 1e-5, 1e-5 * full.abs().max().item<double>()))
        << name;
  }
}

/// The loss and its gradients, one flat buffer a group.
std::vector<at::Tensor> gradients_of(TinyModel& tiny, const at::Tensor& ids) {
  tiny.parameters->zero_gradients();
  const auto loss = tiny.model->loss_sum(ids, ids.roll(-1, 1), {.mode = nn::Mode::training});
  loss.backward();
  auto all = std::vector<at::Tensor>{loss.detach()};
  for (const auto& each : tiny.parameters->gradients()) all.push_back(each);
  return all;
}

// Forward and backward pass of every scheme agree to rounding: in float32, 1e-5 of the largest.
TEST(Model, GivesTheSameByFlashAndByExplicitAttention) {
  const auto ids = fixed_token_ids(2, 16);
  for (const auto precision : {Precision::float64, Precision::float32}) {
    const double tolerance = precision == Precision::float64 ? 1e-11 : 2e-5;
    for (const auto& name : config::catalogue()) {
      TinyModel flash(name, precision, {.attention = AttentionPath::automatic});
      TinyModel materialized(name, precision, {.attention = AttentionPath::explicit_scores});
      EXPECT_TRUE(close(logits_of(flash, ids), logits_of(materialized, ids), tolerance,
                        tolerance * logits_of(materialized, ids).abs().max().item<double>()))
          << name;
      const auto one = gradients_of(flash, ids);
      const auto other = gradients_of(materialized, ids);
      for (std::size_t i = 0; i < one.size(); ++i) {
        const double largest = other[i].numel() > 0 ? other[i].abs().max().item<double>() : 0;
        EXPECT_TRUE(close(one[i], other[i], tolerance, tolerance * largest)) << name << " " << i;
      }
    }
  }
}

TEST(Model, GivesTheSameByFusedOperatorsAndByFormulas) {
  const auto ids = fixed_token_ids(2, 16);
  for (const auto& name : config::catalogue()) {
    const TinyModel fused(name);
    const TinyModel formulas(name, Precision::float64, {.fused = false});
    EXPECT_TRUE(close(logits_of(fused, ids), logits_of(formulas, ids), 1e-11, 1e-11)) << name;
  }
}

TEST(Model, SeesNoLaterToken) {
  auto ids = fixed_token_ids(1, 16);
  auto changed = ids.clone();
  changed[0][9] = (changed[0][9] + 1).remainder(31);
  for (const auto& name : causal_schemes()) {
    const TinyModel tiny(name);
    const auto before = logits_of(tiny, ids);
    const auto after = logits_of(tiny, changed);
    EXPECT_TRUE(before.narrow(1, 0, 9).equal(after.narrow(1, 0, 9))) << name;
    EXPECT_FALSE(before.narrow(1, 9, 7).equal(after.narrow(1, 9, 7))) << name;
  }
}

// E1: feed_forward.input with a normed skip equals attention.residual with a plain skip:
//   x' = n(y) + F(n(y)), y = x + A(x)   =   y' = n(x + A(x)), x' = y' + F(y')
TEST(HybridNorm, EqualsANormAfterTheAttentionAdd) {
  const auto other = config::inline_scheme(
      "extends = \"hybrid_norm\"\n"
      "attention = { residual = \"norm\" }\n"
      "feed_forward = { input = \"none\", skip = \"stream\" }\n",
      ".");
  TinyModel hybrid("hybrid_norm");
  TinyModel moved(other, Precision::float64, {}, tiny_shape(3));
  const at::NoGradGuard no_grad;
  for (const auto& parameter : hybrid.parameters->all()) {
    auto name = parameter.name;
    if (const auto at = name.find("feed_forward.input_norm"); at != std::string::npos) {
      name.replace(at, std::string("feed_forward.input_norm").size(), "attention.residual_norm");
    }
    auto to = moved.parameters->at(name).master;
    to.copy_(parameter.master);
  }
  const auto ids = fixed_token_ids(2, 16);
  EXPECT_TRUE(close(logits_of(moved, ids), logits_of(hybrid, ids), 1e-12, 1e-13));
}

// The first block of HybridNorm* is Pre-Norm with q, k, v norms: its feed-forward skips the stream,
// not the normed stream.
TEST(HybridNormStar, DiffersFromHybridNormInItsFirstBlockOnly) {
  const auto shape = tiny_shape(2);
  const auto star = config::bind(config::find_scheme("hybrid_norm_star"), shape);
  const auto plain = config::bind(config::find_scheme("hybrid_norm"), shape);
  EXPECT_NE(star.blocks[0], plain.blocks[0]);
  EXPECT_EQ(star.blocks[1], plain.blocks[1]);
}

TEST(Model, HasTheSameBitsForAnyNumberOfThreads) {
  const auto ids = fixed_token_ids(4, 64);
  auto shape = tiny_shape(3);
  shape.context = 64;
  const auto gradients = [&](Precision precision, int threads) {
    at::set_num_threads(threads);
    TinyModel tiny("hybrid_norm_star", precision, {}, shape);
    tiny.model->loss_sum(ids, ids).backward();
    return tiny.parameters->gradients();
  };
  for (const auto precision : {Precision::float32, Precision::bfloat16, Precision::float64}) {
    const auto one = gradients(precision, 1);
    const auto two = gradients(precision, 2);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i]));
  }
}

TEST(Model, KeepsBfloat16NearFloat32) {
  const auto ids = fixed_token_ids(2, 16);
  const TinyModel narrow("hybrid_norm_star", Precision::bfloat16);
  const TinyModel wide("hybrid_norm_star", Precision::float32);
  const auto expected = logits_of(wide, ids);
  // about ten roundings of 2^-8 each
  EXPECT_TRUE(
      close(logits_of(narrow, ids), expected, 0, 0.05 * expected.abs().max().item<double>()));
}

TEST(Model, FollowsExpressionsOfTheStep) {
  const auto source = config::inline_scheme(
      "extends = \"pre_norm\"\nattention = { branch_scale = \"min(t/10, 1)\" }\n", ".");
  TinyModel growing(source, Precision::float64, {}, tiny_shape(3));
  const TinyModel grown("pre_norm");
  const auto ids = fixed_token_ids(1, 8);
  growing.model->at_step({.done = 5, .planned = 100});
  EXPECT_FALSE(logits_of(growing, ids).equal(logits_of(grown, ids)));
  growing.model->at_step({.done = 20, .planned = 100});
  EXPECT_TRUE(close(logits_of(growing, ids), logits_of(grown, ids), 1e-13, 1e-13));
}

// Formulas with T at every place, for a run of 100 steps: their value is 1, and the initial gain is
// 1.25.
TEST(Model, RunsASchemeThatDividesByThePlannedSteps) {
  const auto source = config::inline_scheme(
      "extends = \"pre_norm\"\n"
      "embedding = { scale = \"100/T\" }\n"
      "logits = { scale = \"100/T\" }\n"
      "base_init = \"normal(30/T)\"\n"
      "init = [{ weights = [\"attention.q\"], factor = \"100/T\" }]\n"
      "[attention]\n"
      "branch_scale = \"100/T\"\n"
      "score_scale = \"50/T\"\n"
      "input = { gain_init = \"125/T\", out_scale = \"100/T\" }\n",
      ".");
  const TinyModel planned(source, Precision::float64, {}, tiny_shape(3));
  TinyModel plain("pre_norm");
  const auto ids = fixed_token_ids(1, 8);
  {
    const at::NoGradGuard no_grad;
    for (const auto* const block : {"blocks.0", "blocks.1", "blocks.2"}) {
      plain.parameters->at(std::string(block) + ".attention.input_norm.gain").master.add_(0.25);
    }
  }
  EXPECT_TRUE(close(logits_of(planned, ids), logits_of(plain, ids), 1e-12, 1e-12));
  auto& parameters = *planned.parameters;
  nn::initialize(parameters, planned.model->scheme(), "scheme", 7, 100);
  EXPECT_EQ(parameters.at("blocks.0.attention.input_norm.gain").master[0].item<double>(), 1.25);
  EXPECT_NEAR(parameters.at("blocks.0.feed_forward.down.weight").master.std().item<double>(), 0.3,
              0.05);
}

// Statistics of the batch depend on its other tokens; running statistics do not.
TEST(BatchNorm, SeesOtherTokensInTrainingOnly) {
  const auto ids = fixed_token_ids(2, 8);
  auto changed = ids.clone();
  changed[1][7] = (changed[1][7] + 1).remainder(31);
  for (const std::string name : {"batch_norm", "batch_renorm", "instance_norm"}) {
    const TinyModel tiny(name);
    const at::NoGradGuard no_grad;
    const auto first = [&](const at::Tensor& tokens, nn::Mode mode) {
      return tiny.model->hidden(tokens, {.mode = mode}).select(1, 0).clone();
    };
    using nn::Mode;
    // Both passes start from the same running statistics: a pass updates them at its end.
    const bool sees = !first(ids, Mode::evaluation).equal(first(changed, Mode::evaluation));
    EXPECT_EQ(sees, name == "instance_norm") << name;
    if (name == "batch_renorm") continue;  // its training depends on the running values
    EXPECT_FALSE(first(ids, Mode::training).equal(first(changed, Mode::training))) << name;
  }
}

// A row of zeros has no direction: it stays zeros, and the rest stays finite.
TEST(Reparameterization, OfZerosIsZeros) {
  for (const std::string name : {"weight_norm", "sigma_reparam"}) {
    TinyModel tiny(name);
    {
      const at::NoGradGuard no_grad;
      tiny.parameters->at("blocks.1.attention.output.weight").master.zero_();
    }
    tiny.parameters->zero_gradients();
    const auto ids = fixed_token_ids(2, 8);
    const auto loss = tiny.model->loss_sum(ids, ids, {.mode = nn::Mode::training});
    loss.backward();
    EXPECT_TRUE(loss.isfinite().item<bool>()) << name;
    for (const auto& gradient : tiny.parameters->gradients()) {
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name;
    }
  }
}

TEST(BatchNorm, RefusesASingleToken) {
  for (const std::string name : {"batch_norm", "batch_renorm"}) {
    const TinyModel tiny(name);
    try {
      tiny.model->hidden(fixed_token_ids(1, 1), {.mode = nn::Mode::training});
      FAIL() << name << " took one token";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_STREQ(error.what(), "a norm over the batch needs 2 tokens or more, but got 1");
    }
  }
}

// Head and embedding both add to the gradient of a tied matrix, once for each micro-batch.
TEST(Model, AccumulatesBothGradientsOfATiedEmbedding) {
  const TinyModel narrow("hybrid_norm", nn::Precision::bfloat16),
      wide("hybrid_norm", nn::Precision::float64);
  const auto ids = testing::fixed_token_ids(2, 8);
  for (const auto* const tiny : {&narrow, &wide}) {
    tiny->parameters->zero_gradients();
    for (std::int64_t row = 0; row < 2; ++row) {
      const auto part = ids.narrow(0, row, 1);
      tiny->model->loss_sum(part, part.roll(-1, 1), {.mode = nn::Mode::training}).backward();
      tiny->parameters->accumulate_gradients();
    }
  }
  const auto actual = narrow.parameters->gradients(), exact = wide.parameters->gradients();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto apart = (actual[i].to(at::kDouble) - exact[i]).norm().item<double>();
    // bfloat16 gives 0.03 to 0.06 for these small models; without one of the two terms it would be
    // about 0.5.
    EXPECT_LT(apart, 0.1 * exact[i].norm().item<double>()) << "group " << i;
  }
}

// Gradients of a batch in micro-batches of one sequence.
std::vector<at::Tensor> step_in_parts(const TinyModel& tiny, const at::Tensor& ids) {
  tiny.parameters->zero_gradients();
  for (std::int64_t row = 0; row < ids.size(0); ++row) {
    const auto part = ids.narrow(0, row, 1);
    tiny.model->loss_sum(part, part.roll(-1, 1), {.mode = nn::Mode::training}).backward();
    tiny.parameters->accumulate_gradients();
  }
  std::vector<at::Tensor> copies;
  for (const auto& each : tiny.parameters->gradients()) copies.push_back(each.clone());
  return copies;
}

// The memory of gradients is not cleared, and its old values must not matter. Some of nine experts
// get no token.
TEST(Model, HasTheSameGradientsWhateverTheirMemoryHeld) {
  const auto ids = testing::fixed_token_ids(2, 8);
  auto mixture = tiny_shape(3);
  mixture.experts = {.count = 9, .active = 1};
  for (const auto precision : {nn::Precision::bfloat16, nn::Precision::float32}) {
    std::vector<TinyModel> models;
    for (const auto* const name : {"hybrid_norm", "pre_norm", "weight_norm", "ngpt"}) {
      models.emplace_back(name, precision);
    }
    models.emplace_back("hybrid_norm", precision, nn::ModelOptions{.tied = false});
    models.emplace_back("hybrid_norm", precision, nn::ModelOptions{.fused = false});
    models.emplace_back("hybrid_norm", precision, nn::ModelOptions{}, mixture);
    for (std::size_t model = 0; model < models.size(); ++model) {
      const auto& tiny = models[model];
      const auto first = step_in_parts(tiny, ids);
      for (const auto& each : tiny.parameters->gradients()) each.fill_(NAN);
      const auto second = step_in_parts(tiny, ids);
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(first[i].isfinite().all().item<bool>()) << "model " << model;
        EXPECT_TRUE(second[i].equal(first[i])) << "model " << model << ", group " << i;
      }
    }
  }
}

// torch::autograd::grad() for an activation leaves the gradients of parameters unchanged.
TEST(Model, LeavesOtherGradientsUntouched) {
  const TinyModel tiny("hybrid_norm", nn::Precision::float64);
  tiny.parameters->zero_gradients();
  const auto ids = testing::fixed_token_ids(2, 8);
  const auto x = tiny.model->hidden(ids).detach().requires_grad_();
  torch::autograd::grad({tiny.model->loss_sum_of(x, ids)}, {x});
  for (const auto& each : tiny.parameters->gradients()) EXPECT_FALSE(each.any().item<bool>());
}

}  // namespace
}  // namespace evenkeel
