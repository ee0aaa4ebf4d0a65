// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/check_up.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <functional>

#include "evenkeel/base/error.h"
#include "support/tiny_model.h"

namespace evenkeel::train {
namespace {

using testing::fixed_token_ids;
using testing::TinyModel;

constexpr std::int64_t kLater = 100;  // a step

data::Batch one_sequence() {
  const auto ids = fixed_token_ids(1, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  return {{values, values + 16}, {values, values + 16}, 1, 16};
}

/// Gradients that are made up: every number of a parameter is what `value` says of its name.
std::vector<at::Tensor> gradients(const nn::Parameters& parameters,
                                  const std::function<double(const std::string&)>& value) {
  std::vector<at::Tensor> flat;
  for (const auto& group : parameters.groups()) flat.push_back(at::zeros_like(group.master));
  for (const auto& parameter : parameters.all()) {
    parameter.slice_of(flat[parameter.group]).fill_(value(parameter.name));
  }
  return flat;
}

double even(const std::string&) {
  return 1;
}

/// "EVENT BLOCK TENSOR" of each event, one a line.
std::string seen(const TinyModel& tiny, const std::vector<at::Tensor>& flat,
                 std::int64_t step = kLater, double first_score = 1) {
  CheckUp check_up(*tiny.model, *tiny.parameters, TinyModel::kPlannedSteps);
  check_up.set_first_scores({first_score, first_score, first_score});
  std::string out;
  for (const auto& event : check_up(step, one_sequence(), flat)) {
    out += text(event.kind, " ", event.layer, " ", event.tensor, "\n");
  }
  return out;
}

std::string with_gradients(const std::function<double(const std::string&)>& value) {
  const TinyModel tiny("hybrid_norm_star");
  return seen(tiny, gradients(*tiny.parameters, value));
}

probe::RoutingSeen routing(std::vector<std::int64_t> tokens, double logit = 1) {
  return {.blocks = {2}, .tokens = {std::move(tokens)}, .entropy = {1}, .largest_logit = {logit}};
}

std::string seen_of(const probe::RoutingSeen& routing, std::int64_t step = kLater) {
  const TinyModel tiny("hybrid_norm_star");
  CheckUp check_up(*tiny.model, *tiny.parameters, TinyModel::kPlannedSteps);
  check_up.set_first_scores({1, 1, 1});
  std::string out;
  for (const auto& event :
       check_up(step, one_sequence(), gradients(*tiny.parameters, even), routing)) {
    out += text(event.kind, " ", event.layer, " ", event.tensor, ": ", event.observation, "\n");
  }
  return out;
}

TEST(CheckUp, SeesARoutingThatCollapses) {
  EXPECT_EQ(seen_of(routing({500, 490, 5, 5})),
            "routing 2 blocks.1.feed_forward.router.weight: 2 of 4 experts got less than a tenth "
            "of the mean load\n");
  EXPECT_EQ(seen_of(routing({500, 490, 5, 5}), /*step=*/1), "");  // as chance made it
  EXPECT_EQ(seen_of(routing({500, 400, 90, 10})), "");
  EXPECT_EQ(seen_of(routing({20, 20, 0, 0})), "");  // too few choices to tell
}

TEST(CheckUp, SeesRouterLogitsThatGrew) {
  EXPECT_EQ(seen_of(routing({250, 250, 250, 250}, 51)),
            "router_logits 2 blocks.1.feed_forward.router.weight: router logits up to 51\n");
}

TEST(CheckUp, IsSilentOfEvenGradients) {
  EXPECT_EQ(with_gradients(even), "");
}

TEST(CheckUp, SeesGradientsVanishTowardsTheInput) {
  EXPECT_EQ(with_gradients(
                [](const std::string& name) { return name.starts_with("blocks.0.") ? 1e-6 : 1; }),
            "vanishing 1 \n");
}

TEST(CheckUp, SeesGradientsExplodeTowardsTheInput) {
  EXPECT_EQ(with_gradients(
                [](const std::string& name) { return name.starts_with("blocks.2.") ? 1e-6 : 1; }),
            "exploding_depth 1 \n");
}

TEST(CheckUp, SeesBlocksThatDoNotLearn) {
  EXPECT_EQ(with_gradients(
                [](const std::string& name) { return name.starts_with("blocks.") ? 1e-9 : 1; }),
            "dead_blocks 0 \n");
}

TEST(CheckUp, SeesGradientsConcentratedInFeedForwardHalves) {
  EXPECT_EQ(with_gradients([](const std::string& name) {
              return name.find(".attention.") != std::string::npos ? 1e-3 : 1;
            }),
            "feed_forward 0 \n");
}

// Some gains have no gradient at the first step, as those behind a matrix of zeros.
TEST(CheckUp, SeesAFrozenGainAfterTheFirstStep) {
  const TinyModel tiny("hybrid_norm_star");
  const std::string frozen = "blocks.1.attention.k_norm.gain";
  const auto flat =
      gradients(*tiny.parameters, [&](const std::string& name) { return name == frozen ? 0 : 1; });
  EXPECT_EQ(seen(tiny, flat), "frozen_gain 2 " + frozen + "\n");
  EXPECT_EQ(seen(tiny, flat, 1), "");
}

TEST(CheckUp, SeesAGainFarFromItsStart) {
  const TinyModel tiny("gemma3");  // stores the gain less 1
  const at::NoGradGuard no_grad;
  auto gain = tiny.parameters->at("blocks.2.feed_forward.output_norm.gain").master;
  gain[5] = 11.5;
  EXPECT_EQ(seen(tiny, gradients(*tiny.parameters, even)),
            "far_gain 3 blocks.2.feed_forward.output_norm.gain\n");
}

// Scores were as large at the start, so that they do not count as grown.
TEST(CheckUp, SeesAttentionThatCollapsed) {
  const TinyModel tiny("pre_norm");
  const at::NoGradGuard no_grad;
  tiny.parameters->at("blocks.1.attention.qkv.weight").master.mul_(1000);
  EXPECT_EQ(seen(tiny, gradients(*tiny.parameters, even), kLater, /*first_score=*/1e9),
            "entropy 2 blocks.1.attention.qkv.weight\n");
}

TEST(CheckUp, SeesAStreamThatIsTheSameEverywhere) {
  const TinyModel tiny("hybrid_norm_star");
  const at::NoGradGuard no_grad;
  auto rows = tiny.parameters->at("embedding.weight").master;
  rows.copy_(rows[0].clone().expand_as(rows));
  const auto flat = gradients(*tiny.parameters, even);
  CheckUp check_up(*tiny.model, *tiny.parameters, TinyModel::kPlannedSteps);
  check_up.set_first_scores({1, 1, 1});
  EXPECT_TRUE(check_up(kLater, one_sequence(), flat).empty());  // a healthy run may pass through it
  const auto events = check_up(kLater + 50, one_sequence(), flat);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "collapse");
  EXPECT_EQ(events[0].layer, 3);
}

}  // namespace
}  // namespace evenkeel::train
