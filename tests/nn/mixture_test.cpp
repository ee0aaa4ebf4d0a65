// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/mixture.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>

#include "evenkeel/nn/grouped_linear.h"
#include "evenkeel/norm/scheme_error.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using nn::Mode;
using nn::Precision;
using testing::close;
using testing::some_ids;
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

std::vector<std::int64_t> list_of(const at::Tensor& x) {
  const auto flat = x.contiguous();
  const auto* const first = flat.const_data_ptr<std::int64_t>();
  return {first, first + flat.numel()};
}

using List = std::vector<std::int64_t>;

TEST(Routes, AreSortedByExpertAndInTheOrderOfTokens) {
  const auto scores = at::tensor({0.1, 0.7, 0.2,  //
                                  0.5, 0.1, 0.4,  //
                                  0.3, 0.6, 0.1})
                          .to(at::kDouble)
                          .view({3, 3});
  const auto routes = nn::routes_of(scores, 2);
  EXPECT_EQ(list_of(routes.chosen), List({1, 2, 0, 2, 1, 0}));
  EXPECT_EQ(list_of(routes.starts), List({0, 2, 4, 6}));
  EXPECT_EQ(list_of(routes.counts()), List({2, 2, 2}));
  EXPECT_EQ(list_of(routes.token), List({1, 2, 0, 2, 0, 1}));
  EXPECT_EQ(list_of(routes.order), List({2, 5, 0, 4, 1, 3}));
  EXPECT_EQ(list_of(routes.place), List({2, 4, 0, 5, 3, 1}));
}

TEST(Routes, TakeTheLowerIndexOfEqualScores) {
  EXPECT_EQ(list_of(nn::routes_of(at::ones({2, 4}), 3).chosen), List({0, 1, 2, 0, 1, 2}));
  const auto two = at::tensor({0.1F, 0.4F, 0.1F, 0.4F}).view({1, 4});
  EXPECT_EQ(list_of(nn::routes_of(two, 3).chosen), List({1, 3, 0}));
}

TEST(Routes, AreSomeExpertsWhateverTheScores) {
  const auto nan = at::full({2, 3}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  EXPECT_EQ(list_of(nn::routes_of(nan, 2).chosen), List({0, 1, 0, 1}));
}

TEST(Routes, BringEachRowBackToItsToken) {
  const auto x = at::arange(12, at::kDouble).view({4, 3});
  const auto routes = nn::routes_of(at::rand({4, 6}), 3);
  EXPECT_TRUE(nn::brought_back(nn::sent(x, routes), routes).equal(3 * x));
  EXPECT_TRUE(nn::sent(x, routes).equal(x.index_select(0, routes.token)));
}

/// Groups of different sizes, one of them empty.
struct Groups {
  at::Tensor x = at::randn({700, 24}, at::kDouble).requires_grad_();
  at::Tensor weight = at::randn({4, 40, 24}, at::kDouble).requires_grad_();
  at::Tensor starts = at::tensor({0L, 600L, 600L, 601L, 700L}, at::kLong);
};

TEST(GroupedLinear, MultipliesEachGroupWithItsMatrix) {
  const Groups groups;
  const auto dy = at::randn({700, 40}, at::kDouble);
  std::vector<at::Tensor> parts;
  for (std::int64_t e = 0; e < 4; ++e) {
    const auto first = groups.starts[e].item<std::int64_t>();
    const auto last = groups.starts[e + 1].item<std::int64_t>();
    parts.push_back(at::linear(groups.x.narrow(0, first, last - first), groups.weight[e]));
  }
  const auto expected = at::cat(parts);
  expected.backward(dy);
  const auto dx = groups.x.grad().clone(), dw = groups.weight.grad().clone();
  groups.x.mutable_grad() = groups.weight.mutable_grad() = at::Tensor();
  const auto y = nn::grouped_linear(groups.x, groups.weight, groups.starts);
  y.backward(dy);
  EXPECT_TRUE(close(y, expected, 1e-13, 1e-12));
  EXPECT_TRUE(close(groups.x.grad(), dx, 1e-13, 1e-12));
  EXPECT_TRUE(close(groups.weight.grad(), dw, 1e-12, 1e-11));
  EXPECT_FALSE(groups.weight.grad()[1].any().item<bool>());
}

struct Step {
  at::Tensor loss, balance, z;
  std::vector<at::Tensor> gradients;
};

Step step_of(const TinyModel& tiny) {
  const auto ids = some_ids(2, 8);
  nn::RouterLosses router;
  auto sum =
      tiny.model->loss_sum(ids, ids.roll(-1, 1), {.mode = Mode::training, .router = &router});
  (sum + 3 * router.balance + 2 * router.z).backward();
  Step step{sum.detach(), router.balance.detach(), router.z.detach(), {}};
  for (const auto& group : tiny.parameters->groups()) step.gradients.push_back(group.gradient);
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

/// Schemes of the catalogue that have a meaning in a mixture.
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

TEST(Mixture, IsItsFormulaUnderEveryScheme) {
  for (const auto& name : schemes_of_mixtures()) {
    const auto fused = mixture(name, mixture_shape());
    const auto plain = mixture(name, mixture_shape(), Precision::float64, {.fused = false});
    expect_close(step_of(fused), step_of(plain), 1e-9, name);
  }
}

TEST(Mixture, IsItsFormulaInEveryForm) {
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

TEST(Mixture, OfOneExpertIsTheDenseModel) {
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
  dense.parameters->publish();
  const auto ids = some_ids(2, 8);
  EXPECT_TRUE(close(one.model->hidden(ids), dense.model->hidden(ids), 1e-13, 1e-13));
}

TEST(Mixture, DoesNotDependOnTheOrderOfItsExperts) {
  const auto given = mixture("hybrid_norm", mixture_shape());
  const auto other = mixture("hybrid_norm", mixture_shape());
  const auto order = at::tensor({3L, 0L, 4L, 2L, 1L}, at::kLong);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : other.parameters->all()) {
    const bool by_expert = parameter.name.find("experts") != std::string::npos ||
                           parameter.name.find("router") != std::string::npos;
    if (by_expert) parameter.master.copy_(parameter.master.index_select(0, order));
  }
  other.parameters->publish();
  const auto ids = some_ids(2, 8);
  EXPECT_TRUE(close(other.model->hidden(ids), given.model->hidden(ids), 1e-13, 1e-13));
}

std::vector<nn::Routing> routings_of(const TinyModel& tiny) {
  const at::NoGradGuard no_grad;
  std::vector<nn::Routing> all;
  nn::Observer observer;
  observer.routing = [&](std::int64_t, const nn::Routing& routing) { all.push_back(routing); };
  tiny.model->hidden(some_ids(2, 8), {.observer = &observer});
  return all;
}

TEST(Mixture, TakesTheFirstExpertsWhereTheRouterHasNoWord) {
  const auto tiny = mixture("hybrid_norm", mixture_shape());
  {
    const at::NoGradGuard no_grad;
    tiny.parameters->at("blocks.1.feed_forward.router.weight").master.zero_();
  }
  const auto routing = routings_of(tiny).at(1);
  EXPECT_EQ(list_of(routing.routes.counts()), List({16, 16, 0, 0, 0}));
  EXPECT_TRUE(close(routing.weights, at::full({16, 2}, 0.2, at::kDouble), 0, 1e-15));
  const auto losses = nn::router_losses(routing);
  EXPECT_NEAR(losses.balance.item<double>(), 1, 1e-12);  // equal probabilities
  EXPECT_NEAR(losses.z.item<double>(), std::log(5.0) * std::log(5.0) / 2, 1e-12);
}

TEST(Mixture, HasWeightsThatAddUpIfTheyAreToBe) {
  const auto form = norm::Experts{.count = 5, .active = 2, .renormalize = true};
  for (const auto& routing : routings_of(mixture("hybrid_norm", mixture_shape(form)))) {
    EXPECT_TRUE(close(routing.weights.sum(-1), at::ones({16}, at::kDouble), 0, 1e-14));
  }
}

TEST(Mixture, ChoosesByItsBiasButDoesNotWeighByIt) {
  const auto form = norm::Experts{.count = 5, .active = 1, .has_bias = true};
  const auto tiny = mixture("hybrid_norm", mixture_shape(form));
  tiny.parameters->find_state("blocks.0.feed_forward.router.bias")[3] = 10;
  const auto routing = routings_of(tiny).front();
  EXPECT_EQ(list_of(routing.routes.counts()), List({0, 0, 0, 16, 0}));
  EXPECT_TRUE(routing.weights.equal(routing.probabilities.narrow(1, 3, 1)));
}

TEST(Mixture, KeepsItsRouterInFloat32) {
  const auto tiny = mixture("hybrid_norm", mixture_shape(), Precision::bfloat16);
  const auto& router = tiny.parameters->at("blocks.0.feed_forward.router.weight");
  EXPECT_EQ(router.value.scalar_type(), at::kFloat);
  EXPECT_EQ(routings_of(tiny).front().logits.scalar_type(), at::kFloat);
}

TEST(Mixture, DecodesWithACacheWhatTheFullForwardGives) {
  const at::NoGradGuard no_grad;
  const auto tiny =
      mixture("hybrid_norm_star", mixture_shape({.count = 6, .active = 2, .shared = 1}));
  const auto ids = some_ids(2, 8);
  auto cache = tiny.model->empty_cache(2, 8);
  std::vector<at::Tensor> steps;
  for (std::int64_t i = 0; i < 8; ++i) {
    steps.push_back(tiny.model->hidden(ids.narrow(1, i, 1), {.cache = &cache}));
  }
  EXPECT_TRUE(close(at::cat(steps, 1), tiny.model->hidden(ids), 1e-12, 1e-12));
}

void expect_same_bits(const Step& ours, const Step& theirs, const std::string& what) {
  EXPECT_TRUE(ours.loss.equal(theirs.loss) && ours.balance.equal(theirs.balance) &&
              ours.z.equal(theirs.z))
      << what;
  for (std::size_t i = 0; i < ours.gradients.size(); ++i) {
    EXPECT_TRUE(ours.gradients[i].equal(theirs.gradients[i])) << what << ", group " << i;
  }
}

TEST(Mixture, HasTheSameBitsWhenItsBlocksAreComputedAgain) {
  for (const auto precision : {Precision::float32, Precision::bfloat16}) {
    const auto shape = mixture_shape({.count = 5, .active = 2, .dense_layers = 1});
    const auto once = step_of(mixture("hybrid_norm_star", shape, precision));
    const auto twice = step_of(mixture("hybrid_norm_star", shape, precision, {.recompute = true}));
    expect_same_bits(twice, once, "again");
  }
}

TEST(Mixture, HasTheSameBitsForAnyNumberOfThreads) {
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
