// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/mixture_of_experts.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "evenkeel/nn/observer.h"
#include "evenkeel/norm/scheme_error.h"
#include "support/close.h"
#include "support/lists.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Mode;
using nn::Precision;
using testing::close;
using testing::fixed_token_ids;
using testing::List;
using testing::list_of;
using testing::tiny_shape;
using testing::TinyModel;

norm::Shape mixture_shape(const norm::Experts& experts = {.count = 5, .active = 2}) {
  auto shape = tiny_shape(3);
  shape.experts = experts;
  return shape;
}

TinyModel mixture(const std::string& scheme, const norm::Shape& shape,
                  Precision precision = Precision::float64, nn::ModelOptions options = {}) {
  return TinyModel(scheme, precision, options, shape);
}

struct Step {
  at::Tensor loss, balance, z;
  std::vector<at::Tensor> gradients;
};

Step step_of(const TinyModel& tiny) {
  const auto ids = fixed_token_ids(2, 8);
  nn::RouterLosses router;
  auto sum =
      tiny.model->loss_sum(ids, ids.roll(-1, 1), {.mode = Mode::training, .router = &router});
  (sum + 3 * router.balance + 2 * router.z).backward();
  Step step{sum.detach(), router.balance.detach(), router.z.detach(), {}};
  step.gradients = tiny.parameters->gradients();
  return step;
}

void expect_close(const Step& ours, const Step& theirs, double tolerance, const std::string& what) {
  EXPECT_TRUE(close(ours.loss, theirs.loss, tolerance, tolerance)) << what;
  EXPECT_TRUE(close(ours.balance, theirs.balance, tolerance, tolerance)) << what;
  EXPECT_TRUE(close(ours.z, theirs.z, tolerance, tolerance)) << what;
  for (std::size_t i = 0; i < ours.gradients.size(); ++i) {
    const auto scale = theirs.gradients[i].abs().max().item<double>();
    EXPECT_TRUE(close(ours.gradients[i], theirs.gradients[i], tolerance, tolerance * scale))
        << what << ", group " << i;
  }
}

/// The schemes of the catalogue that a mixture of experts can run.
std::vector<std::string> schemes_of_mixtures() {
  auto names = config::catalogue();
  const auto count = names.size();
  std::erase_if(names, [](const std::string& name) {
    try {
      config::bind(config::find_scheme(name), mixture_shape());
      return false;
    } catch (const norm::SchemeError& error) {
      EXPECT_NE(std::string(error.what()).find("in a mixture of experts"), std::string::npos)
          << error.what();
      return true;
    }
  });
  EXPECT_EQ(names.size(), count - 1);  // ngpt: up_gate_scale and unit_norm
  return names;
}

TEST(MixtureOfExperts, IsItsFormulaUnderEveryScheme) {
  for (const auto& name : schemes_of_mixtures()) {
    const auto fused = mixture(name, mixture_shape());
    const auto plain = mixture(name, mixture_shape(), Precision::float64, {.fused = false});
    expect_close(step_of(fused), step_of(plain), 1e-9, name);
  }
}

TEST(MixtureOfExperts, IsItsFormulaInEveryForm) {
  const norm::Experts forms[] = {
      {.count = 4, .active = 4},
      {.count = 4, .active = 1, .renormalize = true},
      {.count = 6, .active = 3, .renormalize = true},
      {.count = 4, .active = 2, .shared = 2},
      {.count = 4, .active = 2, .dense_layers = 2},
      {.count = 4, .active = 1, .shared = 1, .dense_layers = 1, .renormalize = true}};
  for (const auto& form : forms) {
    for (const auto* const scheme : {"hybrid_norm_star", "norm_former"}) {  // the second: hidden
      const auto fused = mixture(scheme, mixture_shape(form));
      const auto plain = mixture(scheme, mixture_shape(form), Precision::float64, {.fused = false});
      expect_close(step_of(fused), step_of(plain), 1e-9, text(scheme, " ", form.count));
    }
  }
}

TEST(MixtureOfExperts, OfOneExpertIsTheDenseModel) {
  const auto one = mixture("hybrid_norm_star", mixture_shape({.count = 1, .active = 1}));
  const TinyModel dense("hybrid_norm_star");
  const at::NoGradGuard no_grad;
  for (const auto& parameter : dense.parameters->all()) {
    auto name = parameter.name;
    const std::string part = "feed_forward.";
    const auto at = name.find(part);
    const bool of_expert = name.ends_with("up_gate.weight") || name.ends_with("down.weight");
    if (of_expert) name.insert(at + part.size(), "experts.");
    parameter.master.copy_(one.parameters->at(name).master.view_as(parameter.master));
  }
  dense.parameters->copy_masters_to_values();
  const auto ids = fixed_token_ids(2, 8);
  EXPECT_TRUE(close(one.model->hidden(ids), dense.model->hidden(ids), 1e-13, 1e-13));
  const at::AutoGradMode with_gradient(true);
  for (const auto* const tiny : {&one, &dense}) {
    tiny->model->loss_sum(ids, ids).backward();
    tiny->parameters->accumulate_gradients();
  }
  for (const auto* const name : {"embedding.weight", "blocks.0.attention.qkv.weight"}) {
    const auto ours = one.parameters->at(name).gradient_buffer.value();
    EXPECT_TRUE(close(ours, dense.parameters->at(name).gradient_buffer.value(), 1e-11, 1e-12))
        << name;
  }
}

/// A mixture with many tokens: several threads share the rows, and an expert has several tiles of
/// rows.
std::vector<at::Tensor> large_step(int threads) {
  at::set_num_threads(threads);
  at::manual_seed(3);
  const auto leaf = [](at::IntArrayRef sizes) { return (0.3 * at::randn(sizes)).requires_grad_(); };
  nn::MixtureOfExperts mixture;
  mixture.router = leaf({3, 32});
  const auto up_gate = leaf({3, 2 * 48, 32}), down = leaf({3, 32, 48}), x = leaf({2, 3000, 32});
  mixture.up_gate = nn::Matrix(up_gate);
  mixture.down = nn::Matrix(down);
  mixture.top_k = 2;
  nn::Routing routing;
  const auto y = mixture(x, Mode::training, &routing);
  const auto losses = nn::router_losses(routing);
  (y.square().sum() + losses.balance + losses.z).backward();
  return {y.detach(), x.grad(), mixture.router.grad(), up_gate.grad(), down.grad()};
}

TEST(MixtureOfExperts, HasTheSameBitsOfManyTokensForAnyNumberOfThreads) {
  const auto one = large_step(1), two = large_step(2);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i])) << i;
}

// An independent reference for the router, by operators of LibTorch that ours does not use.
TEST(MixtureOfExperts, WeighsByTheTopKOfTheSoftmax) {
  for (const bool renormalize : {false, true}) {
    const auto x = at::randn({1, 40, 16}, at::kDouble).requires_grad_();
    const auto router = at::randn({6, 16}, at::kDouble).requires_grad_();
    nn::MixtureOfExperts mixture;
    mixture.router = router;
    mixture.up_gate = nn::Matrix(at::randn({6, 8, 16}, at::kDouble));
    mixture.down = nn::Matrix(at::randn({6, 16, 4}, at::kDouble));
    mixture.top_k = 2;
    mixture.renormalize = renormalize;
    nn::Routing routing;
    mixture(x, Mode::training, &routing);
    auto [weights, chosen] = at::topk(at::softmax(at::matmul(x[0], router.t()), -1), 2);
    if (renormalize) weights = weights / weights.sum(-1, true);
    EXPECT_TRUE(routing.assignment.top_experts.equal(chosen));
    EXPECT_TRUE(close(routing.weights, weights, 1e-13, 1e-14));
    const auto dy = at::randn({40, 2}, at::kDouble);
    routing.weights.backward(dy, /*retain_graph=*/true);
    const auto ours = router.grad().clone();
    router.mutable_grad() = at::Tensor();
    weights.backward(dy);
    EXPECT_TRUE(close(router.grad(), ours, 1e-12, 1e-12));
  }
}

TEST(MixtureOfExperts, DoesNotDependOnTheOrderOfItsExperts) {
  const auto given = mixture("hybrid_norm", mixture_shape());
  const auto other = mixture("hybrid_norm", mixture_shape());
  const auto order = at::tensor({3L, 0L, 4L, 2L, 1L}, at::kLong);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : other.parameters->all()) {
    const bool by_expert = parameter.name.find("experts") != std::string::npos ||
                           parameter.name.find("router") != std::string::npos;
    if (by_expert) parameter.master.copy_(parameter.master.index_select(0, order));
  }
  other.parameters->copy_masters_to_values();
  const auto ids = fixed_token_ids(2, 8);
  EXPECT_TRUE(close(other.model->hidden(ids), given.model->hidden(ids), 1e-13, 1e-13));
}

std::vector<nn::Routing> routings_of(const TinyModel& tiny) {
  const at::NoGradGuard no_grad;
  std::vector<nn::Routing> all;
  nn::Observer observer;
  observer.routing = [&](std::int64_t, const nn::Routing& routing) { all.push_back(routing); };
  tiny.model->hidden(fixed_token_ids(2, 8), {.observer = &observer});
  return all;
}

TEST(MixtureOfExperts, TakesTheFirstExpertsWhenAllLogitsAreEqual) {
  const auto tiny = mixture("hybrid_norm", mixture_shape());
  {
    const at::NoGradGuard no_grad;
    tiny.parameters->at("blocks.1.feed_forward.router.weight").master.zero_();
  }
  const auto routing = routings_of(tiny).at(1);
  EXPECT_EQ(list_of(routing.assignment.tokens_per_expert()), List({16, 16, 0, 0, 0}));
  EXPECT_TRUE(close(routing.weights, at::full({16, 2}, 0.2, at::kDouble), 0, 1e-15));
  const auto losses = nn::router_losses(routing);
  EXPECT_NEAR(losses.balance.item<double>(), 1, 1e-12);  // equal probabilities
  EXPECT_NEAR(losses.z.item<double>(), std::log(5.0) * std::log(5.0) / 2, 1e-12);
}

TEST(MixtureOfExperts, HasWeightsThatSumToOneWhenRenormalized) {
  const auto form = norm::Experts{.count = 5, .active = 2, .renormalize = true};
  for (const auto& routing : routings_of(mixture("hybrid_norm", mixture_shape(form)))) {
    EXPECT_TRUE(close(routing.weights.sum(-1), at::ones({16}, at::kDouble), 0, 1e-14));
  }
}

TEST(MixtureOfExperts, AddsItsBiasToTheChoiceButNotToTheWeights) {
  const auto form = norm::Experts{.count = 5, .active = 1, .has_bias = true};
  const auto tiny = mixture("hybrid_norm", mixture_shape(form));
  tiny.parameters->find_state("blocks.0.feed_forward.router.bias")[3] = 10;
  const auto routing = routings_of(tiny).front();
  EXPECT_EQ(list_of(routing.assignment.tokens_per_expert()), List({0, 0, 0, 16, 0}));
  EXPECT_TRUE(routing.weights.equal(routing.probabilities.narrow(1, 3, 1)));
}

TEST(MixtureOfExperts, KeepsItsRouterInFloat32) {
  const auto tiny = mixture("hybrid_norm", mixture_shape(), Precision::bfloat16);
  const auto& router = tiny.parameters->at("blocks.0.feed_forward.router.weight");
  EXPECT_EQ(router.value.scalar_type(), at::kFloat);
  EXPECT_EQ(routings_of(tiny).front().logits.scalar_type(), at::kFloat);
}

TEST(MixtureOfExperts, DecodesWithACacheWhatTheFullForwardGives) {
  const at::NoGradGuard no_grad;
  const auto tiny =
      mixture("hybrid_norm_star", mixture_shape({.count = 6, .active = 2, .shared = 1}));
  const auto ids = fixed_token_ids(2, 8);
  auto cache = tiny.model->empty_cache(2, 8);
  std::vector<at::Tensor> steps;
  for (std::int64_t i = 0; i < 8; ++i) {
    steps.push_back(tiny.model->hidden(ids.narrow(1, i, 1), {.cache = &cache}));
  }
  EXPECT_TRUE(close(at::cat(steps, 1), tiny.model->hidden(ids), 1e-12, 1e-12));
}

// Two of the three blocks have a router.
TEST(MixtureOfExperts, AveragesTheAuxiliaryLossesOverItsRouters) {
  const auto tiny =
      mixture("hybrid_norm", mixture_shape({.count = 4, .active = 2, .dense_layers = 1}));
  std::vector<nn::RouterLosses> each;
  nn::Observer observer;
  observer.routing = [&](std::int64_t, const nn::Routing& routing) {
    each.push_back(nn::router_losses(routing));
  };
  nn::RouterLosses mean;
  tiny.model->hidden(fixed_token_ids(2, 8),
                     {.mode = Mode::training, .observer = &observer, .router = &mean});
  ASSERT_EQ(each.size(), 2u);
  EXPECT_TRUE(close(mean.balance, (each[0].balance + each[1].balance) / 2, 1e-12, 0));
  EXPECT_TRUE(close(mean.z, (each[0].z + each[1].z) / 2, 1e-12, 0));
}

void expect_same_bits(const Step& ours, const Step& theirs, const std::string& what) {
  EXPECT_TRUE(ours.loss.equal(theirs.loss) && ours.balance.equal(theirs.balance) &&
              ours.z.equal(theirs.z))
      << what;
  for (std::size_t i = 0; i < ours.gradients.size(); ++i) {
    EXPECT_TRUE(ours.gradients[i].equal(theirs.gradients[i])) << what << ", group " << i;
  }
}

TEST(MixtureOfExperts, HasTheSameBitsWhenNormsOrBlocksAreRecomputed) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    const auto shape = mixture_shape({.count = 5, .active = 2, .shared = 1, .dense_layers = 1});
    for (const auto* const scheme : {"hybrid_norm_star", "sub_ln"}) {
      const auto once = step_of(mixture(scheme, shape, precision));
      for (const auto recompute : {nn::Recompute::norms, nn::Recompute::block}) {
        const auto twice = step_of(mixture(scheme, shape, precision, {.recompute = recompute}));
        expect_same_bits(twice, once, scheme);
      }
    }
  }
}

TEST(MixtureOfExperts, HasTheSameBitsForAnyNumberOfThreads) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    at::set_num_threads(1);
    const auto one = step_of(mixture("hybrid_norm_star", mixture_shape(), precision));
    at::set_num_threads(2);
    const auto two = step_of(mixture("hybrid_norm_star", mixture_shape(), precision));
    expect_same_bits(two, one, "threads");
  }
}

}  // namespace
}  // namespace evenkeel
