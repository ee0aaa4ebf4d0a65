// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/health_check.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
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

/// Artificial gradients: every element of a parameter is value(its name).
std::vector<at::Tensor> gradients(const nn::Parameters& parameters,
                                  const std::function<double(const std::string&)>& value) {
  std::vector<at::Tensor> flat;
  for (const auto& group : parameters.groups()) flat.push_back(at::zeros_like(group.master));
  for (const auto& parameter : parameters.all()) {
    parameter.slice_of(flat[parameter.group]).fill_(value(parameter.name));
  }
  return flat;
}

double uniform(const std::string&) {
  return 1;
}

/// "EVENT BLOCK TENSOR" of each event, one a line.
std::string events_text(const TinyModel& tiny, const std::vector<at::Tensor>& flat,
                        std::int64_t step = kLater, double initial_score = 1) {
  HealthCheck health_check(*tiny.model, *tiny.parameters, TinyModel::kPlannedSteps);
  health_check.set_initial_scores({initial_score, initial_score, initial_score});
  std::string out;
  for (const auto& event : health_check(step, one_sequence(), flat)) {
    out += text(event.kind, " ", event.layer, " ", event.tensor, "\n");
  }
  return out;
}

std::string with_gradients(const std::function<double(const std::string&)>& value) {
  const TinyModel tiny("hybrid_norm_star");
  return events_text(tiny, gradients(*tiny.parameters, value));
}

probe::RoutingStats routing(std::vector<std::int64_t> tokens, double logit = 1) {
  return {.blocks = {2}, .tokens = {std::move(tokens)}, .entropy = {1}, .largest_logit = {logit}};
}

std::string routing_events_text(const probe::RoutingStats& routing, std::int64_t step = kLater) {
  const TinyModel tiny("hybrid_norm_star");
  HealthCheck health_check(*tiny.model, *tiny.parameters, TinyModel::kPlannedSteps);
  health_check.set_initial_scores({1, 1, 1});
  std::string out;
  for (const auto& event :
       health_check(step, one_sequence(), gradients(*tiny.parameters, uniform), routing)) {
    out += text(event.kind, " ", event.layer, " ", event.tensor, ": ", event.observation, "\n");
  }
  return out;
}

TEST(HealthCheck, DetectsRoutingCollapse) {
  EXPECT_EQ(routing_events_text(routing({500, 490, 5, 5})),
            "routing 2 blocks.1.feed_forward.router.weight: 2 of 4 experts got less than a tenth "
            "of the mean load\n");
  EXPECT_EQ(routing_events_text(routing({500, 490, 5, 5}), /*step=*/1),
            "");  // fresh routers are random
  EXPECT_EQ(routing_events_text(routing({500, 400, 90, 10})), "");
  EXPECT_EQ(routing_events_text(routing({20, 20, 0, 0})), "");  // too few choices
}

TEST(HealthCheck, DetectsLargeRouterLogits) {
  EXPECT_EQ(routing_events_text(routing({250, 250, 250, 250}, 51)),
            "router_logits 2 blocks.1.feed_forward.router.weight: router logits up to 51\n");
}

TEST(HealthCheck, IsSilentForUniformGradients) {
  EXPECT_EQ(with_gradients(uniform), "");
}

TEST(HealthCheck, DetectsVanishingGradients) {
  EXPECT_EQ(with_gradients(
                [](const std::string& name) { return name.starts_with("blocks.0.") ? 1e-6 : 1; }),
            "vanishing 1 \n");
}

TEST(HealthCheck, DetectsGradientsThatExplodeWithDepth) {
  EXPECT_EQ(with_gradients(
                [](const std::string& name) { return name.starts_with("blocks.2.") ? 1e-6 : 1; }),
            "exploding_depth 1 \n");
}

TEST(HealthCheck, DetectsBlocksThatDoNotLearn) {
  EXPECT_EQ(with_gradients(
                [](const std::string& name) { return name.starts_with("blocks.") ? 1e-9 : 1; }),
            "dead_blocks 0 \n");
}

// A block between healthy ones does not die of the depth.
TEST(HealthCheck, NamesADeadBlock) {
  const auto with_block = [](double gradient) {
    return with_gradients(
        [=](const std::string& name) { return name.starts_with("blocks.1.") ? gradient : 1; });
  };
  EXPECT_EQ(with_block(1e-6), "dead_blocks 2 \n");
  EXPECT_EQ(with_block(1e-3), "");
}

/// The events of a model without gains whose gradients of one block are 0.
std::string events_without(const TinyModel& tiny, const std::string& block, std::int64_t step) {
  const auto flat = gradients(
      *tiny.parameters, [&](const std::string& name) { return name.starts_with(block) ? 0 : 1; });
  return events_text(tiny, flat, step);
}

TEST(HealthCheck, NamesABlockWithoutAGradient) {
  const TinyModel tiny("no_norm");
  EXPECT_EQ(events_without(tiny, "blocks.0.", kLater), "dead_blocks 1 \n");
  EXPECT_EQ(events_without(tiny, "blocks.1.", kLater), "dead_blocks 2 \n");
  EXPECT_EQ(events_without(tiny, "blocks.2.", kLater), "dead_blocks 3 \n");
  EXPECT_EQ(events_without(tiny, "blocks.2.", 1), "dead_blocks 3 \n");
}

// The branches of ProRes have the factor min(t/(1000 l), 1), which is 0 in the first step.
TEST(HealthCheck, IgnoresBlocksThatAreFadedOut) {
  const TinyModel tiny("prores");
  EXPECT_EQ(events_without(tiny, "blocks.", 1), "");
  EXPECT_EQ(events_without(tiny, "blocks.1.", 1), "");
  const auto later = events_without(tiny, "blocks.1.", kLater);
  EXPECT_TRUE(later.ends_with("dead_blocks 2 \n")) << later;
}

TEST(HealthCheck, DetectsGradientsConcentratedInFeedForwardSublayers) {
  EXPECT_EQ(with_gradients([](const std::string& name) {
              return name.find(".attention.") != std::string::npos ? 1e-3 : 1;
            }),
            "feed_forward 0 \n");
}

// In each block q, k, v and output have 768 values, and up, gate and down have 1,152. With
// gradients of g in attention and 1 in the feed-forward sublayer, the ratio of norms is sqrt(1152 /
// 768) / g.
TEST(HealthCheck, WantsAHundredfoldImbalanceOfTheFeedForwardSublayers) {
  const auto at_ratio = [](double ratio) {
    const double attention = std::sqrt(1152.0 / 768) / ratio;
    return with_gradients([=](const std::string& name) {
      return name.find(".attention.") != std::string::npos ? attention : 1;
    });
  };
  EXPECT_EQ(at_ratio(99), "");
  EXPECT_EQ(at_ratio(101), "feed_forward 0 \n");
}

// Some gains have no gradient at the first step, as those after a matrix of zeros.
TEST(HealthCheck, DetectsAFrozenGainAfterTheFirstStep) {
  const TinyModel tiny("hybrid_norm_star");
  const std::string frozen = "blocks.1.attention.k_norm.gain";
  const auto flat =
      gradients(*tiny.parameters, [&](const std::string& name) { return name == frozen ? 0 : 1; });
  EXPECT_EQ(events_text(tiny, flat), "frozen_gain 2 " + frozen + "\n");
  EXPECT_EQ(events_text(tiny, flat, 1), "");
}

TEST(HealthCheck, DetectsAGainFarFromItsStart) {
  const TinyModel tiny("gemma3");  // stores the gain less 1
  const at::NoGradGuard no_grad;
  auto gain = tiny.parameters->at("blocks.2.feed_forward.output_norm.gain").master;
  gain[5] = 11.5;
  EXPECT_EQ(events_text(tiny, gradients(*tiny.parameters, uniform)),
            "far_gain 3 blocks.2.feed_forward.output_norm.gain\n");
}

constexpr const char* kChangedGain = "blocks.1.feed_forward.input_norm.gain";

/// The events of a model whose feed-forward input norms start with gains of 0.25. The first `count`
/// of the 16 values of block 2 are `value`.
std::string events_of_gain(std::int64_t count, double value) {
  const auto source =
      config::inline_scheme("extends = 'pre_norm'\nfeed_forward.input = { gain_init = 0.25 }", ".");
  const TinyModel tiny(source, nn::Precision::float64, {}, testing::tiny_shape(3));
  const at::NoGradGuard no_grad;
  const auto gain = tiny.parameters->at(kChangedGain).master;
  EXPECT_EQ(gain.numel(), 16);
  gain.fill_(0.25);
  gain.narrow(0, 0, count).fill_(value);
  // No score has grown.
  return events_text(tiny, gradients(*tiny.parameters, uniform), kLater, /*initial_score=*/1e9);
}

// A value is dead below 0.25 / 1000.
TEST(HealthCheck, DetectsAGainOfWhichHalfIsDead) {
  const auto dead = text("dead_gain 2 ", kChangedGain, "\n");
  EXPECT_EQ(events_of_gain(8, 0.0002), dead);
  EXPECT_EQ(events_of_gain(8, -0.0002), dead);
  EXPECT_EQ(events_of_gain(7, 0.0002), "");
  EXPECT_EQ(events_of_gain(8, 0.0003), "");
  EXPECT_EQ(events_of_gain(8, -0.0003), "");
}

// A value is far if it is more than 10 * 0.25 away from 0.25, on either side.
TEST(HealthCheck, DetectsAGainTenTimesItsStartAwayFromIt) {
  const auto far = text("far_gain 2 ", kChangedGain, "\n");
  EXPECT_EQ(events_of_gain(1, 2.8), far);
  EXPECT_EQ(events_of_gain(1, 2.7), "");
  EXPECT_EQ(events_of_gain(1, -2.3), far);
  EXPECT_EQ(events_of_gain(1, -2.2), "");
}

// Scores were as large at the start, so that they do not count as grown.
TEST(HealthCheck, DetectsCollapsedAttention) {
  const TinyModel tiny("pre_norm");
  const at::NoGradGuard no_grad;
  tiny.parameters->at("blocks.1.attention.qkv.weight").master.mul_(1000);
  EXPECT_EQ(events_text(tiny, gradients(*tiny.parameters, uniform), kLater, /*initial_score=*/1e9),
            "entropy 2 blocks.1.attention.qkv.weight\n");
}

TEST(HealthCheck, DetectsACollapsedResidualStream) {
  const TinyModel tiny("hybrid_norm_star");
  const at::NoGradGuard no_grad;
  auto rows = tiny.parameters->at("embedding.weight").master;
  rows.copy_(rows[0].clone().expand_as(rows));
  const auto flat = gradients(*tiny.parameters, uniform);
  HealthCheck health_check(*tiny.model, *tiny.parameters, TinyModel::kPlannedSteps);
  health_check.set_initial_scores({1, 1, 1});
  EXPECT_TRUE(
      health_check(kLater, one_sequence(), flat).empty());  // a healthy run may pass through it
  const auto events = health_check(kLater + 50, one_sequence(), flat);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "collapse");
  EXPECT_EQ(events[0].layer, 3);
}

}  // namespace
}  // namespace evenkeel::train
